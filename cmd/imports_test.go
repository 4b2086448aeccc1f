package cmd

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/known"
)

const module = "github.com/leaderrun/leaderrun"

// A listing is what go list reports of each package of the module, by its path below it:
// what the package imports, or what it links.
type listing map[string][]string

// list reports what packages import, or link, on the platform that links most. Fields are those
// of go list: Imports, Deps, or TestImports and XTestImports for files of tests.
func list(t *testing.T, fields ...string) listing {
	t.Helper()
	format := "{{.ImportPath}}"
	for _, f := range fields {
		format += " {{join ." + f + " \" \"}}"
	}
	c := exec.Command("go", "list", "-tags", "urfave_cli_no_docs,grpcnotrace,disable_grpc_modules",
		"-f", format, module+"/...", module+"/examples/leaderrun-shelf")
	c.Env = append(c.Environ(), "GOOS=linux", "GOFLAGS=")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := listing{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		all[strings.TrimPrefix(words[0], module)] = words[1:]
	}
	return all
}

// A layer says what a package may link.
type layer struct {
	pkg     string
	allowed []string // within the module, as patterns
}

// permits reports whether the layer may link a package of the module.
func (l layer) permits(pkg string) bool {
	return slices.ContainsFunc(l.allowed, func(pattern string) bool {
		ok, _ := path.Match(pattern, pkg) // the patterns are valid
		return ok
	})
}

// TestImportsPointDownward keeps the layers apart: main → cmd → runner → locks,
// backends → locks, and no SDK in the core.
func TestImportsPointDownward(t *testing.T) {
	t.Parallel()
	runner := []string{"/runner", "/runner/event", "/runner/health", "/runner/proc", "/runner/heartbeat", "/runner/signals", "/runner/signals/action", "/runner/socket", "/runner/timing", "/locks", "/locks/lease/clock", "/locks/lease/keepalive", "/locks/kit/answers", "/locks/kit/backoff", "/locks/program/threads", "/locks/program/trust", "/locks/recipe/ledger"}
	core := slices.Concat(runner, []string{"/cmd", "/cmd/*", "/runner/guard", "/runner/cgroup", "/runner/notify", "/runner/terminal", "/runner/window", "/locks/backend/file", "/locks/recipe/slots", "/locks/helper", "/locks/kit/durations", "/locks/kit/handle", "/locks/kit/label", "/locks/kit/workers", "/locks/program/trust", "/locks/program/isolate", "/locks/program/threads", "/locks/program/version", "/runner/monitor/metrics/feed", "/completions",
		"/locks/backend", "/locks/backend/known"})
	// The packages of cmd, each with what is below it.
	output := slices.Concat(runner, []string{"/cmd/output", "/runner/terminal"})
	asked := slices.Concat(output, []string{"/cmd/options", "/locks/kit/durations", "/locks/kit/workers", "/runner/guard", "/runner/cgroup", "/locks/program/*", "/locks/backend", "/locks/backend/known"})
	runs := []string{"/cmd/env", "/runner/notify", "/runner/monitor/metrics/feed", "/runner/window", "/locks/helper", "/locks/recipe/slots"}
	// What a backend may import in addition to its own folder.
	kit := []string{"/locks", "/locks/backend", "/locks/backend/known", "/locks/kit/*", "/locks/lease/*", "/locks/recipe/caslease", "/locks/recipe/caslease/rows", "/locks/recipe/queue", "/locks/program/trust"}
	layers := []layer{
		{"/locks", []string{"/locks"}},
		{"/locks/lease/clock", []string{"/locks/lease/clock"}},
		{"/locks/lease/keepalive", []string{"/locks", "/locks/lease/clock", "/locks/lease/keepalive"}},
		{"/locks/helper", []string{"/locks", "/locks/kit/backoff", "/locks/kit/workers", "/locks/program/trust", "/locks/program/isolate", "/locks/program/threads", "/locks/program/version", "/locks/helper"}},
		{"/locks/program/trust", []string{"/locks/program/trust"}},
		{"/locks/program/threads", []string{"/locks/program/threads"}},
		{"/locks/program/version", []string{"/locks/program/version"}},
		{"/locks/backend", []string{"/locks", "/locks/backend"}},
		{"/locks/backend/known", []string{"/locks", "/locks/backend", "/locks/backend/known"}},
		{"/locks/backend/quorum/votes", []string{"/locks/lease/clock", "/locks/backend/quorum/votes"}},
		{"/locks/backend/quorum/wire", []string{"/locks", "/locks/kit/*", "/locks/lease/clock", "/locks/backend/quorum/votes", "/locks/backend/quorum/wire"}},
		{"/locks/backend/quorum/voter", []string{"/locks", "/locks/kit/*", "/locks/lease/clock", "/locks/backend/quorum/*"}},
		{"/locks/backend/quorum/candidate", []string{"/locks", "/locks/kit/*", "/locks/lease/clock", "/locks/backend/quorum/candidate", "/locks/backend/quorum/votes"}},
		{"/locks/recipe/caslease", []string{"/locks", "/locks/kit/*", "/locks/lease/*", "/locks/recipe/caslease"}},
		{"/locks/recipe/caslease/rows", []string{"/locks", "/locks/kit/*", "/locks/lease/*", "/locks/recipe/caslease", "/locks/recipe/caslease/rows"}},
		{"/locks/recipe/caslease/storetest", []string{"/locks", "/locks/kit/*", "/locks/lease/clock", "/locks/recipe/caslease", "/locks/recipe/caslease/storetest", "/locks/lockstest", "/locks/lockstest/*", "/locks/lease/keepalive", "/locks/recipe/ledger", "/locks/recipe/slots"}},
		{"/locks/recipe/queue", []string{"/locks", "/locks/kit/*", "/locks/lease/clock", "/locks/recipe/queue"}},
		{"/locks/kit/answers", []string{"/locks", "/locks/kit/answers", "/locks/lease/clock"}},
		{"/locks/kit/backoff", []string{"/locks/kit/backoff"}},
		{"/locks/kit/bounded", []string{"/locks/kit/bounded"}},
		{"/locks/kit/causes", []string{"/locks", "/locks/kit/causes"}},
		{"/locks/kit/durations", []string{"/locks/kit/durations"}},
		{"/locks/kit/handle", []string{"/locks", "/locks/kit/handle", "/locks/kit/workers"}},
		{"/locks/kit/hosts", []string{"/locks", "/locks/kit/hosts"}},
		{"/locks/kit/label", []string{"/locks", "/locks/kit/label"}},
		{"/locks/kit/proxy", []string{"/locks/kit/proxy"}},
		{"/locks/kit/reload", []string{"/locks/kit/reload", "/locks/program/trust"}},
		{"/locks/kit/silence", []string{"/locks/kit/silence"}},
		{"/locks/kit/tlsfiles", []string{"/locks", "/locks/kit/causes", "/locks/kit/reload", "/locks/kit/tlsfiles", "/locks/program/trust"}},
		{"/locks/kit/workers", []string{"/locks", "/locks/kit/workers"}},
		{"/runner/proc", []string{"/runner/proc", "/runner/signals", "/runner/signals/action", "/locks/lease/clock"}},
		{"/runner/cgroup", []string{"/runner/cgroup"}},
		{"/runner/guard", []string{"/runner/guard", "/runner/cgroup", "/runner/proc", "/runner/signals", "/runner/signals/action", "/runner/terminal", "/locks/lease/clock", "/locks/program/threads"}},
		{"/runner/notify", []string{"/runner/notify"}},
		{"/runner/heartbeat", []string{"/runner/heartbeat", "/locks/lease/clock"}},
		{"/runner/socket", []string{"/runner/socket", "/runner/proc", "/runner/signals", "/runner/signals/action", "/locks/lease/clock", "/locks/program/trust"}},
		{"/runner/signals", []string{"/runner/signals", "/runner/signals/action"}},
		{"/runner/signals/action", []string{"/runner/signals/action"}},
		{"/runner/terminal", []string{"/runner/terminal", "/runner/signals", "/runner/signals/action"}},
		{"/runner/event", []string{"/runner/event", "/locks/lease/clock"}},
		{"/runner/health", []string{"/runner/health", "/runner/proc", "/runner/signals", "/runner/signals/action", "/locks/lease/clock"}},
		{"/runner/monitor", []string{"/runner/monitor", "/runner/monitor/metrics", "/runner/monitor/metrics/feed", "/runner/event", "/locks", "/locks/lease/clock", "/locks/program/isolate", "/locks/program/version"}},
		{"/runner/monitor/metrics", []string{"/runner/monitor/metrics", "/runner/monitor/metrics/feed", "/runner/event", "/locks", "/locks/lease/clock", "/locks/program/isolate"}},
		{"/runner/monitor/metrics/feed", []string{"/runner/monitor/metrics/feed", "/runner/event", "/locks/lease/clock"}},
		{"/runner/timing", []string{"/runner/timing", "/locks", "/locks/lease/clock", "/locks/lease/keepalive"}},
		{"/runner/window", []string{"/runner/window", "/locks", "/locks/kit/durations"}},
		{"/locks/recipe/ledger", []string{"/locks/recipe/ledger", "/locks"}},
		{"/locks/recipe/slots", []string{"/locks/recipe/slots", "/locks/recipe/ledger", "/locks/kit/backoff", "/locks"}},
		{"/examples/leaderrun-shelf", []string{"/locks", "/locks/kit/*", "/locks/recipe/caslease", "/locks/lease/*", "/locks/helper", "/locks/program/isolate", "/locks/program/threads", "/locks/program/trust", "/locks/program/version", "/examples/leaderrun-shelf"}},
		{"/runner", runner},
		{"/cmd/output", output},
		{"/cmd/env", slices.Concat(output, []string{"/cmd/env", "/locks/helper", "/locks/kit/workers", "/locks/program/*"})},
		{"/cmd/options", asked},
		{"/cmd/run", slices.Concat(asked, runs, []string{"/cmd/run"})},
		{"/cmd/operate", slices.Concat(asked, []string{"/cmd/operate", "/cmd/env", "/cmd/view", "/runner/window", "/locks/helper", "/locks/recipe/slots"})},
		{"/cmd/complete", slices.Concat(asked, []string{"/cmd/complete", "/cmd/env", "/locks/helper", "/completions"})},
		{"/cmd/view", []string{"/cmd/view", "/locks", "/locks/recipe/ledger", "/locks/kit/backoff", "/locks/kit/durations", "/runner/window"}},
		{"/cmd/doctor", slices.Concat(asked, []string{"/cmd/doctor", "/cmd/env", "/locks/helper"})},
		{"/completions", []string{"/completions"}},
		{"/cmd", core},
		{"", slices.Concat(core, []string{""})},
	}
	for _, b := range known.Backends() {
		folder := "/locks/backend/" + b.Folder
		layers = append(layers, layer{folder, append(kit[:len(kit):len(kit)], folder, folder+"/votes", folder+"/wire", folder+"/candidate", folder+"/voter")})
		if b.Unit != "" { // its program has another use, which is not a helper's
			last := &layers[len(layers)-1]
			last.allowed = append(last.allowed, "/locks/program/isolate", "/locks/program/version")
		}
	}
	linked := list(t, "Deps")
	for _, l := range layers {
		deps, ok := linked[l.pkg]
		if !ok {
			t.Errorf("there is no package %s", l.pkg)
		}
		for _, d := range append(deps, module+l.pkg) {
			if inner, ok := strings.CutPrefix(d, module); ok && !l.permits(inner) {
				t.Errorf("%s imports %s", l.pkg, inner)
			}
		}
	}
}

// TestTestsPointDownward keeps the layers apart in tests as well, and in packages that have no
// layer above: locks and backends know neither runner nor CLI, and the runner no backend and no
// CLI.
func TestTestsPointDownward(t *testing.T) {
	t.Parallel()
	ofRunner := []string{"/locks", "/locks/kit/answers", "/locks/kit/backoff", "/locks/kit/durations", "/locks/lease/clock", "/locks/lease/keepalive", "/locks/lockstest/trial", "/locks/program/isolate", "/locks/program/threads", "/locks/program/trust", "/locks/program/version", "/locks/recipe/ledger"}
	for pkg, imports := range list(t, "Imports", "TestImports", "XTestImports") {
		for _, d := range imports {
			inner, ours := strings.CutPrefix(d, module)
			ok := true
			switch {
			case !ours:
			case pkg == "/locks":
				ok = inner == pkg
			case pkg == "/locks/recipe/caslease": // a run of cron has a runner
				ok = within(inner, "/locks") || within(inner, "/runner")
			case within(pkg, "/locks"):
				ok = within(inner, "/locks")
			case within(pkg, "/runner"):
				ok = within(inner, "/runner") || slices.Contains(ofRunner, inner)
			}
			if !ok {
				t.Errorf("%s or a test of it imports %s", pkg, inner)
			}
		}
	}
}

// TestCoreLinksNoSDK keeps the process that kills small: it links only these modules, and
// not package net (an eighth of its size).
func TestCoreLinksNoSDK(t *testing.T) {
	t.Parallel()
	allowed := []string{module, "github.com/urfave/cli/v2", "github.com/xrash/smetrics", "golang.org/x/sys/unix",
		"github.com/goccy/go-yaml", "github.com/mattn/go-shellwords"}
	for _, d := range list(t, "Deps")[""] {
		if d == "net" {
			t.Error("the core links package net")
		}
		if standard(d) {
			continue
		}
		if !slices.ContainsFunc(allowed, func(a string) bool { return d == a || strings.HasPrefix(d, a+"/") }) {
			t.Errorf("the core links %s", d)
		}
	}
}

// libraries lists the packages of others, or what their paths begin with, that a folder may
// import. All may import golang.org/x/sys.
var libraries = map[string][]string{
	"/cmd/options":              {"github.com/goccy/go-yaml", "github.com/mattn/go-shellwords", "github.com/urfave/cli/v2"},
	"/faults/oracle":            {"github.com/anishathalye/porcupine"},
	"/locks/backend/azblob":     {"github.com/Azure"},
	"/locks/backend/etcd":       {"go.etcd.io/etcd", "go.uber.org/zap", "google.golang.org/grpc"},
	"/locks/backend/gcs":        {"cloud.google.com/go/auth", "cloud.google.com/go/compute", "cloud.google.com/go/storage", "google.golang.org/api", "github.com/fullstorydev/emulators"},
	"/locks/backend/gossip":     {"github.com/hashicorp/memberlist"},
	"/locks/backend/kubernetes": {"k8s.io/client-go/rest", "k8s.io/client-go/tools/clientcmd", "k8s.io/client-go/transport"},
	"/locks/backend/mysql":      {"github.com/go-sql-driver/mysql"},
	"/locks/backend/postgres":   {"github.com/jackc/pgx"},
	"/locks/backend/spanner":    {"cloud.google.com/go/auth", "cloud.google.com/go/spanner", "github.com/googleapis/gax-go", "google.golang.org/api", "google.golang.org/grpc", "google.golang.org/protobuf"},
	"/locks/backend/zookeeper":  {"github.com/go-zookeeper/zk"},
	"/locks/lockstest":          {"golang.org/x/sync"},
	"/runner/monitor/metrics":   {"github.com/prometheus"},
}

// TestBackendsAreApart checks that a backend is imported by its own folder only, except by
// the registry of cmd, and that a library is imported only where it may be.
func TestBackendsAreApart(t *testing.T) {
	t.Parallel()
	for pkg, imports := range list(t, "Imports") {
		for _, d := range imports {
			if !apart(pkg, d) {
				t.Errorf("%s imports %s", pkg, d)
			}
		}
	}
	for _, b := range known.Backends() { // nobody else may import it, or its libraries
		folder := module + "/locks/backend/" + b.Folder
		for _, d := range append(libraries["/locks/backend/"+b.Folder], folder) {
			for _, pkg := range []string{"/cmd/run", "/runner", "/locks/helper", "/locks/backend/another"} {
				if apart(pkg, d) {
					t.Errorf("%s may import %s", pkg, d)
				}
			}
		}
	}
}

// apart reports whether a package of the module may import another one.
func apart(pkg, d string) bool {
	if inner, ok := strings.CutPrefix(d, module); ok {
		below, ok := strings.CutPrefix(inner, "/locks/backend/")
		backend, _, _ := strings.Cut(below, "/")
		return !ok || within(pkg, "/locks/backend/"+backend) || backend == "known" ||
			pkg == "/cmd" && d == module+"/locks/backend/file"
	}
	if standard(d) || within(d, "golang.org/x/sys") {
		return true
	}
	for folder, allowed := range libraries {
		if within(pkg, folder) && slices.ContainsFunc(allowed, func(library string) bool { return within(d, library) }) {
			return true
		}
	}
	return false
}

// within reports whether a package is in a folder.
func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// standard reports whether a package belongs to the standard library.
func standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}
