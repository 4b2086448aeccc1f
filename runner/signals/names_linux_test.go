package signals_test

import (
	"slices"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/runner/signals"
)

// The names are those of kill -l in bash.
func TestRealtimeNames(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{
		"TERM": 15, "RTMIN": 34, "RTMIN+1": 35, "RTMIN+15": 49, "RTMAX-14": 50, "RTMAX-1": 63, "RTMAX": 64,
	} {
		sig := syscall.Signal(n)
		if got := signals.Name(sig); got != name {
			t.Errorf("%d: got %q; want %q", n, got, name)
		}
		for _, text := range []string{name, "SIG" + name} {
			if got, ok := signals.Parse(text); !ok || got != sig {
				t.Errorf("%q is %d, %v; want %d", text, got, ok, n)
			}
		}
		if !slices.Contains(signals.Names(), name) {
			t.Errorf("%q is not among the names", name)
		}
	}
}

func TestOtherSpellings(t *testing.T) {
	t.Parallel()
	for text, n := range map[string]int{"rtmin+3": 37, "sigrtmax-30": 34, "RTMIN+30": 64, "RTMIN+0": 34, "40": 40} {
		if got, ok := signals.Parse(text); !ok || got != syscall.Signal(n) {
			t.Errorf("%q is %d, %v; want %d", text, got, ok, n)
		}
	}
	for _, text := range []string{"32", "33", "65", "RTMIN+31", "RTMAX-31", "RTMIN-1", "RTMAX+1", "RTMIN3", "RTMIN+", "RTMIN+-1", "RTMIN++1", "RT"} {
		if got, ok := signals.Parse(text); ok {
			t.Errorf("%q is %d; want none", text, got)
		}
	}
}
