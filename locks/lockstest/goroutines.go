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

// label is the key of the profiler label of a test. A goroutine inherits the
// labels of the one that started it, so that those of one test can be told
// from those of the tests beside it, and from the servers'.
const label = "lockstest"

// watchGoroutines checks, at the end of the test and after its handles are
// closed, that none of the goroutines which it started is left. In a suite the end is
// that of all its tests.
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

// ended are the tests of a suite that have ended. Their goroutines are looked for once,
// as a look stops the process for as long as it takes to write down thousands of stacks:
// one after each test took two fifths of a suite's processor time.
type ended struct {
	mu    sync.Mutex
	names []string
}

func (s *ended) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
}

// check fails t for goroutines that are left.
func (s *ended) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []string
	if !within(newLimits(1).patience, func() bool { left = goroutines(s.names...); return len(left) == 0 }) {
		t.Errorf("goroutines left behind:\n%s", strings.Join(left, "\n"))
	}
}

// watch says whether what the calling goroutine starts belongs to the test.
func (e *env) watch(on bool) {
	ctx := context.Background()
	if on {
		ctx = pprof.WithLabels(ctx, pprof.Labels(label, e.Name()))
	}
	pprof.SetGoroutineLabels(ctx)
}

// unwatched calls a function of the Config: what that starts is not the
// backend's.
func (e *env) unwatched(f func()) {
	e.watch(false)
	defer e.watch(true)
	f()
}

// goroutines returns the stacks of those that belong to the test, apart from its own.
func (e *env) goroutines() (left []string) {
	e.unwatched(func() { left = goroutines(e.Name()) })
	return left
}

// goroutines returns the stacks of those that belong to tests.
func goroutines(tests ...string) (left []string) {
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		_, rest, _ := strings.Cut(stack, "labels:{"+strconv.Quote(label)+": ")
		name, _, _ := strings.Cut(rest, "}]:\n")
		// A process has one goroutine for signals, which whoever first asks
		// for one starts.
		if name, err := strconv.Unquote(name); err == nil && slices.Contains(tests, name) && !strings.Contains(stack, "os/signal.loop") {
			left = append(left, stack)
		}
	}
	return left
}

// showLabels has stacks show the labels of goroutines. A profile shows them, too, but
// takes a quarter of a suite's processor time.
var showLabels = sync.OnceValue(func() error {
	return os.Setenv("GODEBUG", strings.TrimPrefix(os.Getenv("GODEBUG")+",tracebacklabels=1", ","))
})

// stacks returns those of all goroutines, with an empty line between them.
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

// settle is how long what goes on in the background is given to end.
const settle = 5 * time.Second
