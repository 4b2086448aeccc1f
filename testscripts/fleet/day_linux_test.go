package fleet

import (
	"strings"
	"testing"
	"time"
)

// TestDay is a day of cron on five hosts, whose clocks differ by up to three minutes: in
// each window the job succeeds once.
func TestDay(t *testing.T) {
	t.Parallel()
	for name, start := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			d := day{spec: "10m", zone: "UTC", begin: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
				windows: size(t, 16, 40), every: 10 * time.Minute, fast: s.window}
			v := check(t, runDay(t, d, s))
			for _, victim := range victims {
				if v.kills[victim] == 0 {
					t.Errorf("no %s was killed", victim)
				}
			}
			if v.ran == 0 || v.skips+v.held == 0 || v.failures == 0 {
				t.Errorf("this proves nothing: %v", v)
			}
		})
	}
}

// TestClocksChange is the nights in which the clocks of Berlin change. A schedule with
// specific hours follows the clock: an hour that occurs twice has its windows once. A
// schedule for every hour has the windows of both.
func TestClocksChange(t *testing.T) {
	t.Parallel()
	autumn, spring := time.Date(2026, 10, 24, 21, 50, 0, 0, time.UTC), time.Date(2026, 3, 28, 22, 50, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, spec string
		begin      time.Time
		windows    int // from midnight to the last before six
	}{
		{"back, by the hour", "0,30 0-5 * * *", autumn, 12},
		{"back, every hour", "0,30 * * * *", autumn, 14},
		{"forward, by the hour", "0,30 0-5 * * *", spring, 10},
		{"forward, every hour", "0,30 * * * *", spring, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := runDay(t, day{spec: tt.spec, zone: "Europe/Berlin", begin: tt.begin,
				windows: tt.windows, every: 30 * time.Minute, fast: time.Second}, fileStore(t))
			check(t, c)
			first, last := c.schedule.Window(c.slots[0]).Label, c.schedule.Window(c.slots[tt.windows-1]).Label
			if !strings.Contains(first, " 00:00") || !strings.Contains(last, " 05:30") {
				t.Errorf("%d windows from %s to %s, want those of one night", tt.windows, first, last)
			}
		})
	}
}

// check reports what was wrong in a day.
func check(t *testing.T, c *cron) *verdict {
	t.Helper()
	v := c.judge()
	t.Logf("%s: %v", c.store.name, v)
	if len(v.wrong) > 0 {
		t.Errorf("%d violations:\n%s", len(v.wrong), listed(v.wrong))
	}
	return v
}
