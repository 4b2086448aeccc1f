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

// deps lists what a package links, for a platform that has all of it.
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

// A layer is what a package links.
type layer struct {
	pkg     string
	allowed []string // within the module, as patterns
}

// permits reports whether a package of the module may be in it.
func (l layer) permits(pkg string) bool {
	return slices.ContainsFunc(l.allowed, func(pattern string) bool {
		ok, _ := path.Match(pattern, pkg) // it is sound
		return ok
	})
}

// TestImportsPointDownward holds the layers apart: main → cmd → runner → locks,
// backends → locks, and no SDK in the core.
func TestImportsPointDownward(t *testing.T) {
	t.Parallel()
	runner := []string{"/runner", "/runner/proc", "/runner/signals", "/runner/socket", "/locks", "/locks/clock", "/locks/keepalive", "/locks/backoff", "/locks/ledger"}
	core := slices.Concat(runner, []string{"/cmd", "/cmd/doctor", "/cmd/view", "/runner/guard", "/runner/cgroup", "/runner/notify", "/runner/terminal", "/runner/window", "/locks/file", "/locks/slots", "/locks/helper", "/locks/trust", "/locks/isolate", "/locks/threads", "/locks/version", "/runner/metrics/feed", "/completions",
		"/locks/backend", "/locks/backend/known", "/locks/*/*info"})
	// What a backend may import, besides what is in its own folder.
	kit := []string{"/locks", "/locks/backend", "/locks/record", "/locks/backoff", "/locks/caslease", "/locks/causes", "/locks/clock", "/locks/hosts", "/locks/queue", "/locks/reload", "/locks/tlsfiles", "/locks/trust"}
	layers := []layer{
		{"/locks", []string{"/locks"}},
		{"/locks/clock", []string{"/locks/clock"}},
		{"/locks/keepalive", []string{"/locks", "/locks/clock", "/locks/keepalive"}},
		{"/locks/helper", []string{"/locks", "/locks/trust", "/locks/isolate", "/locks/threads", "/locks/version", "/locks/helper"}},
		{"/locks/trust", []string{"/locks/trust"}},
		{"/locks/threads", []string{"/locks/threads"}},
		{"/locks/version", []string{"/locks/version"}},
		{"/locks/backend", []string{"/locks", "/locks/backend"}},
		{"/locks/backend/known", []string{"/locks", "/locks/backend", "/locks/backend/known", "/locks/*/*info"}},
		{"/locks/caslease", []string{"/locks", "/locks/backoff", "/locks/clock", "/locks/caslease"}},
		{"/locks/caslease/storetest", []string{"/locks", "/locks/backoff", "/locks/clock", "/locks/caslease", "/locks/caslease/storetest", "/locks/lockstest", "/locks/lockstest/*", "/locks/keepalive", "/locks/ledger", "/locks/slots"}},
		{"/locks/queue", []string{"/locks", "/locks/backoff", "/locks/record", "/locks/queue"}},
		{"/locks/record", []string{"/locks", "/locks/record"}},
		{"/locks/backoff", []string{"/locks/backoff"}},
		{"/locks/causes", []string{"/locks", "/locks/causes"}},
		{"/locks/hosts", []string{"/locks", "/locks/hosts"}},
		{"/locks/reload", []string{"/locks/reload"}},
		{"/locks/tlsfiles", []string{"/locks", "/locks/causes", "/locks/reload", "/locks/tlsfiles"}},
		{"/runner/proc", []string{"/runner/proc", "/locks/clock"}},
		{"/runner/cgroup", []string{"/runner/cgroup"}},
		{"/runner/guard", []string{"/runner/guard", "/runner/cgroup", "/runner/proc", "/runner/signals", "/locks/clock", "/locks/threads"}},
		{"/runner/notify", []string{"/runner/notify"}},
		{"/runner/socket", []string{"/runner/socket", "/runner/proc", "/locks/clock"}},
		{"/runner/signals", []string{"/runner/signals"}},
		{"/runner/terminal", []string{"/runner/terminal", "/runner/signals"}},
		{"/runner/probe", []string{"/runner/probe", "/locks/version"}},
		{"/runner/metrics", slices.Concat(runner, []string{"/runner/metrics", "/runner/metrics/feed", "/locks/isolate", "/locks/version"})},
		{"/runner/metrics/feed", slices.Concat(runner, []string{"/runner/metrics/feed"})},
		{"/runner/window", []string{"/runner/window", "/locks"}},
		{"/locks/ledger", []string{"/locks/ledger", "/locks"}},
		{"/locks/slots", []string{"/locks/slots", "/locks/ledger", "/locks/backoff", "/locks"}},
		{"/examples/leaderrun-shelf", []string{"/locks", "/locks/backoff", "/locks/caslease", "/locks/clock", "/locks/helper", "/locks/isolate", "/locks/threads", "/locks/trust", "/locks/version", "/examples/leaderrun-shelf"}},
		{"/runner", runner},
		{"/cmd/view", []string{"/cmd/view", "/locks", "/locks/ledger", "/locks/backoff"}},
		{"/cmd/doctor", slices.Concat(runner, []string{"/runner/guard", "/runner/cgroup", "/locks/threads", "/cmd/doctor"})},
		{"/completions", []string{"/completions"}},
		{"/cmd", core},
		{"", slices.Concat(core, []string{""})},
	}
	for _, b := range known.Backends() {
		folder := "/locks/" + b.Folder
		layers = append(layers, layer{folder, append(kit[:len(kit):len(kit)], folder, folder+"/*info")})
	}
	for _, l := range layers {
		for _, d := range deps(t, module+l.pkg) {
			if inner, ok := strings.CutPrefix(d, module); ok && !l.permits(inner) {
				t.Errorf("%s imports %s", l.pkg, inner)
			}
		}
	}
}

// TestCoreLinksNoSDK keeps the process that kills small: only these modules of
// others, and not package net (an eighth of its size).
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
