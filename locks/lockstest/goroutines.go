package lockstest

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// label is the key of the profiler label of a test. A goroutine inherits the labels of
// the one that started it. So those of one test can be told from those of parallel tests
// and of servers.
const label = "lockstest"

// watchGoroutines checks, at the end of the test and after its handles are closed, that
// no goroutine is left that it started. In a suite that is the end of all its tests.
func (e *env) watchGoroutines() {
	e.watch(true)
	e.Cleanup(func() {
		if e.c.ended != nil {
			e.c.ended.add(e.Name())
			return
		}
		var left []string
		if !within(2*e.prompt, func() bool { left = e.goroutines(); return len(left) == 0 }) {
			e.Errorf("goroutines left behind:\n%s", strings.Join(left, "\n"))
		}
	})
}

// ended has the tests of a suite that have ended. Their goroutines are checked once,
// because each check stops the process while it writes thousands of stacks: one check
// after each test took two fifths of a suite's processor time.
type ended struct {
	mu    sync.Mutex
	names []string
}

func (s *ended) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
}

// check fails t if goroutines are left.
func (s *ended) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []string
	if !within(newLimits(1).patience, func() bool { left = goroutines(s.names...); return len(left) == 0 }) {
		t.Errorf("goroutines left behind:\n%s", strings.Join(left, "\n"))
	}
}

// watch sets whether goroutines that the caller starts belong to the test.
func (e *env) watch(on bool) {
	ctx := context.Background()
	if on {
		ctx = pprof.WithLabels(ctx, pprof.Labels(label, e.Name()))
	}
	pprof.SetGoroutineLabels(ctx)
}

// unwatched calls a function of the Config, whose goroutines are not the backend's.
func (e *env) unwatched(f func()) {
	e.watch(false)
	defer e.watch(true)
	f()
}

// operates is unwatched for what an operator, or a stranger, does to a lock without its holder.
func (e *env) operates(f func()) {
	e.witness.lapse()
	defer e.witness.lapse()
	e.unwatched(f)
}

// goroutines returns the stacks of those of this test, except for its own.
func (e *env) goroutines() (left []string) {
	e.unwatched(func() { left = goroutines(e.Name()) })
	return left
}

// goroutines returns the stacks of the goroutines of tests.
func goroutines(tests ...string) (left []string) {
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		_, rest, _ := strings.Cut(stack, "labels:{"+strconv.Quote(label)+": ")
		name, _, _ := strings.Cut(rest, "}]:\n")
		// A process has one goroutine for signals. The first caller that asks for signals
		// starts it.
		if name, err := strconv.Unquote(name); err == nil && slices.Contains(tests, name) && !strings.Contains(stack, "os/signal.loop") {
			left = append(left, stack)
		}
	}
	return left
}

// showLabels makes stacks show the labels of goroutines. A profile shows them as well,
// but takes a quarter of a suite's processor time.
var showLabels = sync.OnceValue(func() error {
	return os.Setenv("GODEBUG", strings.TrimPrefix(os.Getenv("GODEBUG")+",tracebacklabels=1", ","))
})

// stacks returns the stacks of all goroutines, separated by an empty line.
func stacks() string {
	if err := showLabels(); err != nil {
		return err.Error()
	}
	for b := make([]byte, 1<<18); ; b = make([]byte, 2*len(b)) {
		if n := runtime.Stack(b, true); n < len(b) {
			return string(b[:n])
		}
	}
}

// settle is how long background work may take to end.
const settle = 5 * time.Second
