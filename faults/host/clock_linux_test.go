package host

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestClocksAreApart compares what hosts see of their uptime, which is by the boot clock.
func TestClocksAreApart(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, Clock, Options{Apart: true})
	uptime := func(h *Host) (seconds float64) {
		out, err := h.Command("cat", "/proc/uptime").Output()
		if _, scan := fmt.Sscan(string(out), &seconds); err != nil || scan != nil {
			t.Fatalf("%q, %v, %v", out, err, scan)
		}
		return seconds
	}
	ours := uptime(newHostWith(t, "", Options{}))
	ahead := uptime(h) - ours
	if diff := math.Abs(ahead - h.Ahead().Seconds()); h.Ahead() < time.Hour || diff > patience.Seconds() {
		t.Errorf("the clock is %.2f s ahead, want %v", ahead, h.Ahead())
	}
}
