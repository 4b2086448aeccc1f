package fleet

import (
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A canary notices when the machine is too busy to run anybody in time. What must
// never be must not be then, either; but a lease may be lost with nobody at fault,
// and a takeover takes as long as it takes.
type canary struct {
	stop chan struct{}
	wg   sync.WaitGroup

	mu   sync.Mutex
	slow []trace.Span
}

// tooSlow is how long it takes to run a program that does nothing on a machine
// that is too busy. It takes a hundredth of it on one that is not.
const tooSlow = 400 * time.Millisecond

// newCanary returns one that lives until the end of the test.
func newCanary(t *testing.T, dir string) *canary {
	c := &canary{stop: make(chan struct{})}
	c.wg.Go(func() { c.live(dir) })
	t.Cleanup(func() {
		close(c.stop)
		c.wg.Wait()
	})
	return c
}

func (c *canary) live(dir string) {
	for {
		begin := clock.Boot{}.Now()
		_ = exec.Command(program("subject"), "health", dir).Run() // it does nothing that could fail
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

// busy reports whether the machine was too busy between two moments. Nobody is told
// so by a nil canary.
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
