package notify

import (
	"slices"
	"testing"
	"time"
)

// The variables are read as sd_watchdog_enabled(3) does.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	tests := []struct {
		env  []string
		want time.Duration
	}{
		{nil, 0},
		{[]string{"WATCHDOG_USEC=30000000"}, 30 * time.Second},
		{[]string{"WATCHDOG_USEC=30000000", "WATCHDOG_PID=17"}, 30 * time.Second},
		{[]string{"WATCHDOG_USEC=30000000", "WATCHDOG_PID="}, 30 * time.Second},
		{[]string{"WATCHDOG_USEC=30000000", "WATCHDOG_PID=18"}, 0},
		{[]string{"WATCHDOG_USEC=30000000", "WATCHDOG_PID=x"}, 0},
		{[]string{"WATCHDOG_PID=17"}, 0},
		{[]string{"WATCHDOG_USEC="}, 0},
		{[]string{"WATCHDOG_USEC=0"}, 0},
		{[]string{"WATCHDOG_USEC=-1"}, 0},
		{[]string{"WATCHDOG_USEC=1s"}, 0},
		{[]string{"WATCHDOG_USEC=18446744073709551615"}, 0}, // infinity
		{[]string{"WATCHDOG_USEC=9223372036854775"}, 9223372036854775 * time.Microsecond},
		{[]string{"WATCHDOG_USEC=9223372036854776"}, 0}, // more than a Duration holds
	}
	for _, test := range tests {
		if got := watchdog(test.env, 17); got != test.want {
			t.Errorf("%q: got %v, want %v", test.env, got, test.want)
		}
	}
}

func TestJobEnvironment(t *testing.T) {
	t.Parallel()
	ours := []string{"HOME=/", "NOTIFY_SOCKET=/s", "WATCHDOG_USEC=1", "NOTIFY_SOCKETS=1", "WATCHDOG_PID=1", "ODD"}
	want := []string{"HOME=/", "NOTIFY_SOCKETS=1", "ODD"}
	if got := JobEnvironment(ours); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if ours[1] != "NOTIFY_SOCKET=/s" {
		t.Error("our own environment was changed")
	}
}
