// Package trial runs tests whose failures are examined before they count: those of
// deliberate defects, which must fail, and those that race the clock, which may fail on a
// busy machine.
package trial

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Result is the outcome of a trial.
type Result struct {
	Failed, Skipped bool
	Final           bool   // it failed, and no busy machine excuses that: see Final
	Failure         string // the first assertion that failed
	Log             string // its log, one or more lines per call
}

// Run runs a test and its clean-up to the end. A failure, a panic or a skip affects only
// the trial: tb continues. Only f, and goroutines that it waits for, may use the
// testing.TB that it gets.
func Run(tb testing.TB, f func(tb testing.TB)) Result {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	t := &trial{TB: tb, ctx: ctx}
	t.guard(func() { f(t) })
	cancel()
	for next := t.lastCleanup(); next != nil; next = t.lastCleanup() {
		t.guard(next)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Result{Failed: t.failed, Skipped: t.skipped, Final: t.final, Failure: t.failure, Log: strings.Join(t.log, "\n")}
	if r.Failed && r.Failure == "" {
		r.Failure = lastWords(r.Log)
	}
	return r
}

// lastWords returns why a test says that it has failed if it logs that, and only calls FailNow:
// the last line with FAIL, as scripts have it, or else the last line.
func lastWords(log string) (said string) {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for _, line := range slices.Backward(lines) {
		if strings.Contains(line, "FAIL: ") {
			return line
		}
	}
	return cmp.Or(lines[len(lines)-1], "it says nothing")
}

// A trial stands in for a test. Methods that it does not override, such as TempDir, are
// the test's.
type trial struct {
	testing.TB
	ctx context.Context

	mu              sync.Mutex
	failed, skipped bool
	final           bool
	failure         string
	log             []string
	cleanups        []func()
	helpers         map[string]bool // the functions that have called Helper
}

// guard runs f in its own goroutine, which FailNow and SkipNow can end.
func (t *trial) guard(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				Final(t, "panic: %v\n%s", p, debug.Stack())
			}
		}()
		f()
	}()
	<-done
}

func (t *trial) lastCleanup() func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.cleanups) == 0 {
		return nil
	}
	last := len(t.cleanups) - 1
	f := t.cleanups[last]
	t.cleanups = slices.Delete(t.cleanups, last, last+1)
	return f
}

func (t *trial) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *trial) Context() context.Context { return t.ctx }

func (t *trial) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func (t *trial) Skipped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.skipped
}

func (t *trial) Fail() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = true
}

func (t *trial) FailNow() {
	t.Fail()
	runtime.Goexit()
}

func (t *trial) SkipNow() {
	t.mu.Lock()
	t.skipped = true
	t.mu.Unlock()
	runtime.Goexit()
}

func (t *trial) Helper() {
	caller, _ := callers().Next()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.helpers == nil {
		t.helpers = map[string]bool{}
	}
	t.helpers[caller.Function] = true
}

// end notes that nothing excuses this failure.
func (t *trial) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.final = true
}

// note adds a line, with the place in the test that it is about: the first caller that is
// not a helper. If it says that an assertion has failed, the test has failed.
func (t *trial) note(text string, failed bool) {
	stack := callers()
	stack.Next() // Errorf or a similar method
	t.mu.Lock()
	defer t.mu.Unlock()
	at, more := stack.Next()
	for more && t.helpers[at.Function] {
		at, more = stack.Next()
	}
	line := fmt.Sprintf("%s:%d: %s", filepath.Base(at.File), at.Line, strings.TrimSuffix(text, "\n"))
	t.log = append(t.log, line)
	if failed && !t.failed {
		t.failed, t.failure = true, line
	}
}

// callers returns the frames of the caller's callers.
func callers() *runtime.Frames {
	var pcs [32]uintptr
	return runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
}

func (t *trial) Log(args ...any)                 { t.note(fmt.Sprintln(args...), false) }
func (t *trial) Logf(format string, args ...any) { t.note(fmt.Sprintf(format, args...), false) }

func (t *trial) Error(args ...any)                 { t.note(fmt.Sprintln(args...), true) }
func (t *trial) Errorf(format string, args ...any) { t.note(fmt.Sprintf(format, args...), true) }

func (t *trial) Fatal(args ...any) {
	t.note(fmt.Sprintln(args...), true)
	runtime.Goexit()
}

func (t *trial) Fatalf(format string, args ...any) {
	t.note(fmt.Sprintf(format, args...), true)
	runtime.Goexit()
}

func (t *trial) Skip(args ...any) {
	t.note(fmt.Sprintln(args...), false)
	t.SkipNow()
}

func (t *trial) Skipf(format string, args ...any) {
	t.note(fmt.Sprintf(format, args...), false)
	t.SkipNow()
}
