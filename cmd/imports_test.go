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

// deps lists the packages that a package links, on the platform that links most.
func deps(t *testing.T, pkg string) []string {
	t.Helper()
	c := exec.Command("go", "list", "-tags", "urfave_cli_no_docs,grpcnotrace,disable_grpc_modules", "-deps", pkg)
	c.Env = append(c.Environ(), "GOOS=linux", "GOFLAGS=")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", pkg, err)
	}
	return strings.Fields(string(out))
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
	runner := []string{"/runner", "/runner/event", "/runner/health", "/runner/proc", "/runner/heartbeat", "/runner/signals", "/runner/signals/action", "/runner/socket", "/runner/timing", "/locks", "/locks/lease/clock", "/locks/lease/keepalive", "/locks/kit/backoff", "/locks/recipe/ledger"}
	core := slices.Concat(runner, []string{"/cmd", "/cmd/*", "/runner/guard", "/runner/cgroup", "/runner/notify", "/runner/terminal", "/runner/window", "/locks/backend/file", "/locks/recipe/slots", "/locks/helper", "/locks/kit/durations", "/locks/program/trust", "/locks/program/isolate", "/locks/program/threads", "/locks/program/version", "/runner/monitor/metrics/feed", "/completions",
		"/locks/backend", "/locks/backend/known", "/locks/backend/*/*info"})
	// The packages of cmd, each with what is below it.
	output := slices.Concat(runner, []string{"/cmd/output", "/runner/terminal"})
	asked := slices.Concat(output, []string{"/cmd/options", "/locks/kit/durations", "/runner/guard", "/runner/cgroup", "/locks/program/*", "/locks/backend", "/locks/backend/known", "/locks/backend/*/*info"})
	runs := []string{"/cmd/env", "/runner/notify", "/runner/monitor/metrics/feed", "/runner/window", "/locks/helper", "/locks/recipe/slots"}
	// What a backend may import in addition to its own folder.
	kit := []string{"/locks", "/locks/backend", "/locks/kit/backoff", "/locks/recipe/caslease", "/locks/recipe/caslease/rows", "/locks/kit/causes", "/locks/lease/clock", "/locks/kit/durations", "/locks/kit/hosts", "/locks/recipe/queue", "/locks/kit/reload", "/locks/kit/tlsfiles", "/locks/kit/workers", "/locks/program/trust"}
	layers := []layer{
		{"/locks", []string{"/locks"}},
		{"/locks/lease/clock", []string{"/locks/lease/clock"}},
		{"/locks/lease/keepalive", []string{"/locks", "/locks/lease/clock", "/locks/lease/keepalive"}},
		{"/locks/helper", []string{"/locks", "/locks/program/trust", "/locks/program/isolate", "/locks/program/threads", "/locks/program/version", "/locks/helper"}},
		{"/locks/program/trust", []string{"/locks/program/trust"}},
		{"/locks/program/threads", []string{"/locks/program/threads"}},
		{"/locks/program/version", []string{"/locks/program/version"}},
		{"/locks/backend", []string{"/locks", "/locks/backend"}},
		{"/locks/backend/known", []string{"/locks", "/locks/backend", "/locks/backend/known", "/locks/backend/*/*info"}},
		{"/locks/backend/gossip/votes", []string{"/locks/lease/clock", "/locks/backend/gossip/votes"}},
		{"/locks/backend/gossip/quorum", []string{"/locks", "/locks/kit/backoff", "/locks/kit/workers", "/locks/lease/clock", "/locks/backend/gossip/*"}},
		{"/locks/recipe/caslease", []string{"/locks", "/locks/kit/backoff", "/locks/kit/workers", "/locks/lease/clock", "/locks/recipe/caslease"}},
		{"/locks/recipe/caslease/rows", []string{"/locks", "/locks/kit/backoff", "/locks/kit/workers", "/locks/lease/clock", "/locks/recipe/caslease", "/locks/recipe/caslease/rows"}},
		{"/locks/recipe/caslease/storetest", []string{"/locks", "/locks/kit/backoff", "/locks/kit/workers", "/locks/lease/clock", "/locks/recipe/caslease", "/locks/recipe/caslease/storetest", "/locks/lockstest", "/locks/lockstest/*", "/locks/lease/keepalive", "/locks/recipe/ledger", "/locks/recipe/slots"}},
		{"/locks/recipe/queue", []string{"/locks", "/locks/kit/backoff", "/locks/kit/workers", "/locks/recipe/queue"}},
		{"/locks/kit/backoff", []string{"/locks/kit/backoff"}},
		{"/locks/kit/causes", []string{"/locks", "/locks/kit/causes"}},
		{"/locks/kit/durations", []string{"/locks/kit/durations"}},
		{"/locks/kit/hosts", []string{"/locks", "/locks/kit/hosts"}},
		{"/locks/kit/reload", []string{"/locks/kit/reload"}},
		{"/locks/kit/tlsfiles", []string{"/locks", "/locks/kit/causes", "/locks/kit/reload", "/locks/kit/tlsfiles"}},
		{"/locks/kit/workers", []string{"/locks", "/locks/kit/workers"}},
		{"/runner/proc", []string{"/runner/proc", "/runner/signals", "/runner/signals/action", "/locks/lease/clock"}},
		{"/runner/cgroup", []string{"/runner/cgroup"}},
		{"/runner/guard", []string{"/runner/guard", "/runner/cgroup", "/runner/proc", "/runner/signals", "/runner/signals/action", "/locks/lease/clock", "/locks/program/threads"}},
		{"/runner/notify", []string{"/runner/notify"}},
		{"/runner/heartbeat", []string{"/runner/heartbeat", "/locks/lease/clock"}},
		{"/runner/socket", []string{"/runner/socket", "/runner/proc", "/runner/signals", "/runner/signals/action", "/locks/lease/clock"}},
		{"/runner/signals", []string{"/runner/signals", "/runner/signals/action"}},
		{"/runner/signals/action", []string{"/runner/signals/action"}},
		{"/runner/terminal", []string{"/runner/terminal", "/runner/signals", "/runner/signals/action"}},
		{"/runner/event", []string{"/runner/event", "/locks/lease/clock"}},
		{"/runner/health", []string{"/runner/health", "/runner/proc", "/runner/signals", "/runner/signals/action", "/locks/lease/clock"}},
		{"/runner/monitor", []string{"/runner/monitor", "/runner/monitor/*", "/runner/monitor/metrics/feed", "/runner/event", "/locks", "/locks/lease/clock", "/locks/program/isolate", "/locks/program/version"}},
		{"/runner/monitor/metrics", []string{"/runner/monitor/metrics", "/runner/monitor/metrics/feed", "/runner/event", "/locks", "/locks/lease/clock", "/locks/program/isolate"}},
		{"/runner/monitor/probe", []string{"/runner/monitor/probe"}},
		{"/runner/monitor/metrics/feed", []string{"/runner/monitor/metrics/feed", "/runner/event", "/locks/lease/clock"}},
		{"/runner/timing", []string{"/runner/timing", "/locks", "/locks/lease/clock", "/locks/lease/keepalive"}},
		{"/runner/window", []string{"/runner/window", "/locks", "/locks/kit/durations"}},
		{"/locks/recipe/ledger", []string{"/locks/recipe/ledger", "/locks"}},
		{"/locks/recipe/slots", []string{"/locks/recipe/slots", "/locks/recipe/ledger", "/locks/kit/backoff", "/locks"}},
		{"/examples/leaderrun-shelf", []string{"/locks", "/locks/kit/backoff", "/locks/kit/workers", "/locks/recipe/caslease", "/locks/lease/clock", "/locks/helper", "/locks/program/isolate", "/locks/program/threads", "/locks/program/trust", "/locks/program/version", "/examples/leaderrun-shelf"}},
		{"/runner", runner},
		{"/cmd/output", output},
		{"/cmd/env", slices.Concat(output, []string{"/cmd/env", "/locks/helper", "/locks/program/*"})},
		{"/cmd/options", asked},
		{"/cmd/run", slices.Concat(asked, runs, []string{"/cmd/run"})},
		{"/cmd/operate", slices.Concat(asked, []string{"/cmd/operate", "/cmd/env", "/cmd/view", "/locks/helper", "/locks/recipe/slots"})},
		{"/cmd/complete", slices.Concat(asked, []string{"/cmd/complete", "/cmd/env", "/locks/helper", "/completions"})},
		{"/cmd/view", []string{"/cmd/view", "/locks", "/locks/recipe/ledger", "/locks/kit/backoff"}},
		{"/cmd/doctor", slices.Concat(asked, []string{"/cmd/doctor", "/cmd/env", "/locks/helper"})},
		{"/completions", []string{"/completions"}},
		{"/cmd", core},
		{"", slices.Concat(core, []string{""})},
	}
	for _, b := range known.Backends() {
		folder := "/locks/backend/" + b.Folder
		layers = append(layers, layer{folder, append(kit[:len(kit):len(kit)], folder, folder+"/*info", folder+"/votes", folder+"/quorum")})
	}
	for _, l := range layers {
		for _, d := range deps(t, module+l.pkg) {
			if inner, ok := strings.CutPrefix(d, module); ok && !l.permits(inner) {
				t.Errorf("%s imports %s", l.pkg, inner)
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
	for _, d := range deps(t, module) {
		if d == "net" {
			t.Error("the core links package net")
		}
		if first, _, _ := strings.Cut(d, "/"); !strings.Contains(first, ".") {
			continue // the standard library
		}
		if !slices.ContainsFunc(allowed, func(a string) bool { return d == a || strings.HasPrefix(d, a+"/") }) {
			t.Errorf("the core links %s", d)
		}
	}
}
