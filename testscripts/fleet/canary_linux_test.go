package fleet

import (
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A canary notices when the machine is too busy to run anything in time. What must never
// happen must not happen then either. But a lease may be lost without a fault, and a
// takeover takes as long as it takes.
type canary struct {
	stop chan struct{}
	wg   sync.WaitGroup

	mu   sync.Mutex
	slow []trace.Span
}

// tooSlow is how long a program that does nothing takes on a machine that is too busy.
// Otherwise it takes a hundredth of that.
const tooSlow = 400 * time.Millisecond

// newCanary returns a canary that lives until the end of the test.
func newCanary(t *testing.T) *canary {
	c := &canary{stop: make(chan struct{})}
	c.wg.Go(func() { c.live() })
	t.Cleanup(func() {
		close(c.stop)
		c.wg.Wait()
	})
	return c
}

func (c *canary) live() {
	for {
		begin := clock.Boot{}.Now()
		_ = exec.Command(program("subject"), "nothing").Run() // nothing in it could fail
		select {
		case <-c.stop:
			return
		case <-time.After(tooSlow / 4):
		}
		if end := (clock.Boot{}).Now(); end.Sub(begin) > tooSlow+tooSlow/4 {
			c.mu.Lock()
			c.slow = append(c.slow, trace.Span{First: begin, Last: end})
			c.mu.Unlock()
		}
	}
}

// busy reports whether the machine was too busy between two moments. A nil canary always
// returns false.
func (c *canary) busy(from, to clock.Instant) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slow {
		if s.First <= to && s.Last >= from {
			return true
		}
	}
	return false
}
