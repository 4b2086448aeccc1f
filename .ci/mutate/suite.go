package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// elsewhere has tests of a package that another package has: over the simulated server of
// package queue, the conformance suite tests slots.
var elsewhere = map[string]suite{"locks/recipe/slots": {of: "locks/recipe/queue", only: "Slot"}}

// ofSuites are tests of the conformance suites: they expect failures, and cannot notice others.
var ofSuites = []string{"TestSuiteFails", "TestStoreDefects"}

// A suite is tests that may notice the mutants of a package.
type suite struct {
	of, only     string // a package, and a regular expression for the names of its tests
	program, dir string
	took         time.Duration
	slow         string       // a regular expression for the tests that take long
	reached      map[int]bool // the mutants that make a difference to these tests
}

// longest is what a test takes that is not slow.
const longest = 100 * time.Millisecond

// memory is how much a test program may use, in KiB: a mutant may allocate without end.
const memory = 8 << 20

// build compiles the tests, with all mutants.
func (all *set) build(packages []*pkg) error {
	overlay, err := all.overlay()
	if err != nil {
		return err
	}
	args := []string{"test", "-c", "-o", all.dir + "/", "-overlay", overlay}
	for _, p := range packages {
		args = append(args, p.path)
		p.suites = []*suite{{of: p.name}}
		if s, ok := elsewhere[p.name]; ok {
			p.suites = append(p.suites, &s)
		}
		for _, s := range p.suites {
			s.program = filepath.Join(all.dir, filepath.Base(s.of)+".test")
			s.dir = filepath.Join(strings.TrimSuffix(p.dir, p.name), s.of)
		}
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	return nil
}

// try runs all tests without a mutant.
func (all *set) try(packages []*pkg) error {
	var suites []*suite
	for _, p := range packages {
		suites = append(suites, p.suites...)
	}
	errs := make(chan error, len(suites))
	together(suites, func(s *suite) { errs <- s.try(all.dir) })
	close(errs)
	var failed error
	for err := range errs {
		failed = errors.Join(failed, err)
	}
	return failed
}

// try runs the tests without a mutant, and finds out how long they take and which they reach.
func (s *suite) try(dir string) error {
	name := filepath.Join(dir, strings.ReplaceAll(s.of, "/", "-")+s.only+".reached")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	began := time.Now()
	r, output := s.run(10*time.Minute, "MUTANTS_REACHED="+name, "-test.run", s.only, "-test.skip", oneOf(ofSuites))
	if r != survived {
		return fmt.Errorf("without a mutant, the tests of %s fail:\n%s", s.of, output[max(0, len(output)-1000):])
	}
	s.took, s.reached = time.Since(began), map[int]bool{}
	var slow []string
	for _, m := range passed.FindAllSubmatch(output, -1) {
		if took, err := time.ParseDuration(string(m[2])); err == nil && took > longest {
			slow = append(slow, string(m[1]))
		}
	}
	s.slow = oneOf(slow)
	b, err := os.ReadFile(name)
	for _, line := range strings.Fields(string(b)) {
		n, _ := strconv.Atoi(line) // written by us
		s.reached[n] = true
	}
	return err
}

// passed is what the output has for a test that has passed.
var passed = regexp.MustCompile(`(?m)^--- PASS: (\w+) \((.*)\)$`)

// oneOf returns a regular expression for the names of tests.
func oneOf(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

// judge runs the tests with a mutant, those that take long last. If they take much longer than
// without it, they hang.
func (s *suite) judge(n int) result {
	limit, variable := 3*s.took+10*time.Second, fmt.Sprint("MUTANT=", n)
	r, _ := s.run(limit, variable, "-test.run", s.only, "-test.skip", oneOf(append(ofSuites, s.slow)))
	if r == survived {
		r, _ = s.run(limit, variable, "-test.run", s.slow)
	}
	return r
}

// run runs tests until the first failure. The result is survived if they pass.
func (s *suite) run(limit time.Duration, variable string, args ...string) (result, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$@"`, memory), "sh", s.program, "-test.v")
	cmd.Args = append(cmd.Args, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, append(os.Environ(), "LEADERRUN_TEST_LONG=", variable), time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a test may have children, which hang as well
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	w := &watcher{failed: cancel}
	cmd.Stdout, cmd.Stderr = w, w
	switch err := cmd.Run(); {
	case err == nil:
		return survived, w.Bytes()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return hangs, w.Bytes()
	}
	return caught, w.Bytes()
}

// A watcher keeps the output of tests, as far as memory allows, and calls failed when one
// fails.
type watcher struct {
	bytes.Buffer
	failed func()
}

func (w *watcher) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("--- FAIL")) {
		w.failed()
	}
	if w.Len() < memory {
		w.Buffer.Write(b)
	}
	return len(b), nil
}

// together calls f for each, as many at a time as there are processors.
func together[T any](each []T, f func(T)) {
	next := make(chan T)
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for e := range next {
				f(e)
			}
		})
	}
	for _, e := range each {
		next <- e
	}
	close(next)
	wg.Wait()
}
