package guard

import (
	"testing"
	"testing/synctest"
	"time"
)

// A guard that has nothing left to do is killed if it is slow to end. awaitEnd does not wait
// for one that cannot be killed.
func TestAwaitEnd(t *testing.T) {
	t.Parallel()
	for name, takes := range map[string]time.Duration{"ends": time.Second / 2, "is killed": time.Second, "does not die": 11 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := &child{ended: make(chan struct{})}
			c.end = func() {
				if name == "is killed" {
					close(c.ended)
				}
			}
			if name == "ends" {
				time.AfterFunc(takes, func() { close(c.ended) })
			}
			begun := time.Now()
			c.awaitEnd()
			if got := time.Since(begun); got != takes {
				t.Errorf("%s: it takes %v, want %v", name, got, takes)
			}
		})
	}
}
