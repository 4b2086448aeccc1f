package clock_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// TestBootIsUptime compares the clock with /proc/uptime, which includes suspend. It may have been
// slewed.
func TestBootIsUptime(t *testing.T) {
	before := clock.Boot{}.Now()
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Skip(err)
	}
	after := clock.Boot{}.Now()
	var seconds float64
	if _, err := fmt.Sscan(string(text), &seconds); err != nil {
		t.Fatal(err)
	}
	uptime := clock.Instant(seconds * float64(time.Second))
	differs := 20*time.Millisecond + time.Duration(uptime)/100 // /proc/uptime has two decimals
	if uptime < before.Add(-differs) || uptime > after.Add(differs) {
		t.Errorf("the clock reads %v to %v, and the uptime is %v", before, after, uptime)
	}
}

// TestBootGoesForward: readings never go back, although each is made of several.
func TestBootGoesForward(t *testing.T) {
	t.Parallel()
	last := clock.Boot{}.Now()
	for range 20_000 {
		now := clock.Boot{}.Now()
		if now < last {
			t.Fatalf("after %v the clock reads %v", last, now)
		}
		last = now
	}
}
