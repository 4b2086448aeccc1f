//go:build bench && linux

package bench

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/bench/conditions"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
)

// A bench is one run of all sections.
type bench struct {
	core     string // a copy of bin/leaderrun
	helper   string // a copy of bin/leaderrun-etcd in the same directory
	etcdctl  string
	before   string   // a copy of an earlier build of leaderrun, if BENCH_BEFORE names its directory
	home     string   // HOME of all commands
	stderr   *os.File // standard error of the present command
	sections []section

	conditions conditions.Run
	others     []string // how much of the processors' time others used, and when
	disturbed  bool     // that was too much
}

// TestBench runs the sections one after the other; -run TestBench/file runs one. It
// writes RESULTS.md only after all of them.
func TestBench(t *testing.T) {
	b := newBench(t)
	b.conditions = conditions.Begin()
	b.watch(t, "before the run")
	var during conditions.Watch
	if err := during.Begin(); err != nil {
		t.Fatal(err)
	}
	type row struct {
		name string
		run  func(*testing.T) section
	}
	rows := []row{
		{"file", b.file},
		{"etcd", b.etcdFast},
		{"fsync", b.etcdDurable},
		{"consul", b.consul},
		{"handover", b.handOver},
		{"storm", b.storm},
		{"requests", b.requests},
		{"idle", b.idle},
		{"guard", b.guard},
		{"init", b.inits},
		{"start", b.starts},
	}
	if b.before != "" {
		rows = append(rows, row{"before", b.againstBefore})
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := row.run(t)
			s.name = row.name
			b.sections = append(b.sections, s)
			t.Log("\n" + s.text())
		})
	}
	switch {
	case t.Failed():
	case len(b.sections) < len(rows):
		t.Log("not all sections were run: RESULTS.md is unchanged")
	default:
		b.judge(t, &during, false, "during the run")
		b.watch(t, "after the run")
		b.conditions.End()
		b.write(t, "RESULTS.md")
	}
}

func newBench(t *testing.T) *bench {
	// Processes that a command leaves behind become our children, so that their CPU time
	// counts and they do not run into the next command.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stderr.Close() })
	b := &bench{home: t.TempDir(), stderr: stderr}
	bin := t.TempDir()
	b.core = install(t, bin, filepath.Join("..", "bin", "leaderrun"))
	b.helper = install(t, bin, filepath.Join("..", "bin", "leaderrun-etcd"))
	b.etcdctl = install(t, bin, etcdtest.Binary(t, "", "etcdctl"))
	if dir := os.Getenv("BENCH_BEFORE"); dir != "" {
		bin := t.TempDir()
		b.before = install(t, bin, filepath.Join(dir, "leaderrun"))
		install(t, bin, filepath.Join(dir, "leaderrun-etcd"))
	}
	return b
}

// install copies a program and returns the path of the copy. Installed programs are
// copies. A file that the linker has just written is mapped in smaller pieces, and starts
// 5 to 10 % slower.
func install(t *testing.T, dir, program string) string {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatalf("%v; run make build first", err)
	}
	path := filepath.Join(dir, filepath.Base(program))
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
