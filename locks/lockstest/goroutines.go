package lockstest

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
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
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return []string{fmt.Sprint("no profile: ", err)}
	}
	mine := fmt.Sprintf("# labels: {%q:%s}", label, strconv.Quote(e.Name()))
	var left []string
	for stack := range strings.SplitSeq(b.String(), "\n\n") {
		// A process has one goroutine for signals, which whoever first asks
		// for one starts.
		if strings.Contains(stack, mine) && !strings.Contains(stack, "os/signal.loop") {
			left = append(left, stack)
		}
	}
	return left
}

// settle is how long what goes on in the background is given to end.
const settle = 5 * time.Second
