package lockstest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

// label is the key of the profiler label of a test. A goroutine inherits the
// labels of the one that started it, so that those of one test can be told
// from those of the tests beside it, and from the servers'.
const label = "lockstest"

// watchGoroutines checks, at the end of the test and after its handles are
// closed, that none of the goroutines which it started is left.
func (e *env) watchGoroutines() {
	e.watch(true)
	e.Cleanup(func() {
		var left []string
		pause(10 * time.Millisecond) // most end in that time, and a look stops all of them
		if !within(2*e.prompt, func() bool { left = e.goroutines(); return len(left) == 0 }) {
			e.Errorf("goroutines left behind:\n%s", strings.Join(left, "\n"))
		}
	})
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

// goroutines returns the stacks of the goroutines that belong to the test,
// apart from the test itself.
func (e *env) goroutines() []string {
	e.watch(false)
	defer e.watch(true)
	mine := fmt.Sprintf("labels:{%q: %q}", label, e.Name())
	var left []string
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		// A process has one goroutine for signals, which whoever first asks
		// for one starts.
		if strings.Contains(stack, mine) && !strings.Contains(stack, "os/signal.loop") {
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
