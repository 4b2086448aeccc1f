package clock_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// TestBootIsUptime compares the clock with /proc/uptime, which includes suspend.
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
	const rounding = 10 * time.Millisecond // /proc/uptime has two decimals
	if uptime < before.Add(-2*rounding) || uptime > after.Add(2*rounding) {
		t.Errorf("the clock reads %v to %v, and the uptime is %v", before, after, uptime)
	}
}
