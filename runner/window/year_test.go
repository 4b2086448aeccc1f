package window_test

import (
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/window"
)

var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
	"America/Sao_Paulo", "Pacific/Apia", "America/St_Johns", "Pacific/Chatham",
}

// A year has the right number of windows, and windows never go back, in zones whose clocks
// go forward and back by half an hour, an hour and a whole day. The test looks at every
// minute of the days around each change of the clocks, and otherwise at each window at
// least once.
func TestYear(t *testing.T) {
	t.Parallel()
	for _, zone := range zones {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			for _, spec := range []string{"20m", "hour", "day", "week", "30 2 * * *", "15 1 * * *", "*/20 0-4 * * *", "0 * * * *", "0 */6 * * *"} {
				year := 2011 // Samoa had no 30 December
				if zone == "America/Sao_Paulo" {
					year = 2018 // clocks changed there until 2019, at midnight
				}
				location, err := time.LoadLocation(zone)
				if err != nil {
					t.Fatal(err)
				}
				yearOf(t, parse(t, "CRON_TZ="+zone+" "+spec), location, year)
			}
		})
	}
}

func yearOf(t *testing.T, w window.Schedule, zone *time.Location, year int) {
	t.Helper()
	now := time.Date(year, 1, 1, 12, 0, 0, 0, time.UTC)
	last := w.Window(now)
	n := 0
	low, high := expected(w.String())
	far := 20 * time.Minute
	if high <= 366 { // windows are long
		far = 6 * time.Hour
	}
	for end := now.AddDate(1, 0, 0); now.Before(end); now = now.Add(step(now.In(zone), far)) {
		got := w.Window(now)
		if got.Key < last.Key {
			t.Fatalf("%s at %v: from %q back to %q", w, now, last.Label, got.Label)
		}
		if got != last {
			n++
		}
		last = got
	}
	if n < low || n > high {
		t.Errorf("%s: %d windows in %d, want %d to %d", w, n, year, low, high)
	}
}

// step returns the time until the next look, which is longer far from a change of the
// clocks.
func step(now time.Time, far time.Duration) time.Duration {
	const around = 26 * time.Hour
	if start, end := now.ZoneBounds(); now.Sub(start) < around || !end.IsZero() && end.Sub(now) < around {
		return time.Minute
	}
	return far
}

// expected returns how many windows a year has. The clocks and the calendar may skip or
// repeat an hour or a day.
func expected(spec string) (low, high int) {
	switch spec {
	case "20m0s":
		return 365*24*3 - 1, 365 * 24 * 3
	case "1h0m0s", "0 * * * *":
		return 365*24 - 2, 365*24 + 1
	case "0 0 * * 1":
		return 52, 53
	case "*/20 0-4 * * *":
		return 365*15 - 15 - 4, 365 * 15
	case "0 */6 * * *":
		return 365*4 - 5, 365*4 + 1
	}
	return 364, 366
}

// Ends returns the very second in which the next window begins to count.
func TestEnds(t *testing.T) {
	t.Parallel()
	for _, zone := range zones {
		for _, spec := range []string{"1s", "10s", "5m", "hour", "day", "week", "@yearly", "0 0 29 2 *", "30 2 * * *", "*/10 2 * * *", "*/10 * * * *"} {
			w, step := parse(t, "CRON_TZ="+zone+" "+spec), 17*time.Minute
			if spec == "week" || spec == "@yearly" || spec == "0 0 29 2 *" { // far from each end
				step = 6 * time.Hour
			}
			for now := time.Date(2026, 10, 25, 0, 0, 30, 0, time.UTC); now.Day() < 26; now = now.Add(step) {
				first, end := w.Window(now), w.Ends(now)
				if !end.After(now) || w.Window(end.Add(-time.Second)) != first && end.Sub(now) >= time.Second || w.Window(end).Key <= first.Key {
					t.Fatalf("%s in %s at %v: got %q, which ends at %v", spec, zone, now, first.Label, end)
				}
			}
		}
	}
}
