package durations_test

import (
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/durations"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "10": 10 * time.Second, "1.5": 1500 * time.Millisecond, ".5": 500 * time.Millisecond, "5.": 5 * time.Second,
		"1e-1": 100 * time.Millisecond, "1E3": 1000 * time.Second, "1e+2": 100 * time.Second, "2.5e-3": 2500 * time.Microsecond,
		"1d": day, "1.5d": 36 * time.Hour, "1e1d": 10 * day, "1d12h": 36 * time.Hour, "1e-1m": 6 * time.Second, "1e0h1m": 61 * time.Minute,
		"7d1h2m3.5s": 7*day + time.Hour + 2*time.Minute + 3500*time.Millisecond,
		"0.1s":       100 * time.Millisecond, "1.1h": 66 * time.Minute, "0.3d": 7*time.Hour + 12*time.Minute,
		"1e-9": 1, "1e-10": 1, "1e-5000": 1, "0.00000000001h": 36, "0e5": 0, "0.0": 0, "1e-100d0s": 1,
		"+3": 3 * time.Second, "-1": -time.Second, "-1d": -day, "100000d": 100000 * day,
	} {
		if got, ok := durations.Parse(text); !ok || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", " ", "-", "+", ".", "s", "d", "soon", "inf", "infinity", "NaN", "0x10", "0x1p3", "1_0", "10 s", " 10", "10 ", "1s2", "1.5.2",
		"1e", "e1", "1e-", "1es", "1e1e1", "1 d", "1D", "1w", "1s-1s", "--1", "+-1", "1,5", "99999999999", "200000d", "1e999", "-1e999"} {
		if got, ok := durations.Parse(text); ok {
			t.Errorf("Parse(%q) = %v; want none", text, got)
		}
	}
}

// FuzzParse: what [time.ParseDuration] parses means the same here.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"1.5h", "-2m30s", "100ms", "1us", "+.5s", "9223372036854775807ns", "1h1h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := time.ParseDuration(text)
		got, ok := durations.Parse(text)
		const exact = 100 * 24 * time.Hour
		if err != nil || want.Abs() > exact {
			return
		}
		// Package time truncates each number to nanoseconds.
		if diff := got - want; !ok || diff.Abs() > time.Duration(len(text)) {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, ok, want)
		}
	})
}
