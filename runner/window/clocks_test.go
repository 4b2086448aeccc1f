package window_test

import "testing"

// A time that the clocks skip has a window, which includes hosts that come after the gap.
func TestClocksForward(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, zone, spec string
		window           string // its wall time
		first            string // the first time in it
		before           string // a time before it
		last             string // a late time in it
	}{
		{"Berlin", "Europe/Berlin", "30 2 * * *", "2026-03-29T02:30", "2026-03-29T03:00:00+02:00", "2026-03-29T01:57:59+01:00", "2026-03-30T02:27:00+02:00"},
		{"at 03:30", "Europe/Berlin", "30 2 * * *", "2026-03-29T02:30", "2026-03-29T03:30:00+02:00", "2026-03-29T01:30:00+01:00", "2026-03-29T23:00:00+02:00"},
		{"New York", "America/New_York", "30 2 * * *", "2026-03-08T02:30", "2026-03-08T03:00:00-04:00", "2026-03-08T01:57:59-05:00", "2026-03-09T02:00:00-04:00"},
		{"Lord Howe, half an hour", "Australia/Lord_Howe", "15 2 * * *", "2026-10-04T02:15", "2026-10-04T02:30:00+11:00", "2026-10-04T01:57:59+10:30", "2026-10-05T02:12:00+11:00"},
		{"a day without a midnight", "America/Sao_Paulo", "day", "2018-11-04T00:00", "2018-11-04T01:00:00-02:00", "2018-11-03T23:57:59-03:00", "2018-11-04T23:57:59-02:00"},
		{"New York, before the gap", "America/New_York", "30 1 * * *", "2026-03-08T01:30", "2026-03-08T01:30:00-05:00", "2026-03-08T01:27:59-05:00", "2026-03-08T03:30:00-04:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, want := parse(t, "CRON_TZ="+tt.zone+" "+tt.spec), wallKey(t, tt.window)
			for _, now := range []string{tt.first, tt.last} {
				if got := w.Window(at(t, now)); got.Key != want {
					t.Errorf("at %s: got %q, want %s", now, got.Label, tt.window)
				}
			}
			if got := w.Window(at(t, tt.before)); got.Key >= want {
				t.Errorf("at %s: got %q already", tt.before, got.Label)
			}
		})
	}
}

// When an hour is repeated, windows in wall time are not: the second hour has those of the
// first.
func TestClocksBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, zone, spec, window, first, second, next, still string }{
		{"Berlin", "Europe/Berlin", "30 2 * * *", "2026-10-25T02:30", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-26T02:28:00+01:00", "2026-10-25T02:05:00+01:00"},
		{"New York", "America/New_York", "30 1 * * *", "2026-11-01T01:30", "2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-02T01:28:00-05:00", "2026-11-01T01:05:00-05:00"},
		{"Lord Howe, half an hour", "Australia/Lord_Howe", "45 1 * * *", "2026-04-05T01:45", "2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30", "2026-04-06T01:43:00+10:30", "2026-04-05T01:31:00+10:30"},
		{"at midnight", "America/Sao_Paulo", "day", "2018-02-17T00:00", "2018-02-17T23:57:00-02:00", "2018-02-17T23:57:00-03:00", "2018-02-17T23:58:00-03:00", "2018-02-17T23:59:30-02:00"},
		{"the hour after", "Europe/Berlin", "0 2,3 * * *", "2026-10-25T02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:58:00+01:00", "2026-10-25T02:57:00+01:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, want := parse(t, "CRON_TZ="+tt.zone+" "+tt.spec), wallKey(t, tt.window)
			for _, now := range []string{tt.first, tt.second, tt.still} {
				if got := w.Window(at(t, now)); got.Key != want {
					t.Errorf("at %s: got %q, want %s", now, got.Label, tt.window)
				}
			}
			if got := w.Window(at(t, tt.next)); got.Key <= want {
				t.Errorf("at %s: still %q", tt.next, got.Label)
			}
		})
	}
}

// When an hour is repeated, a job for every hour runs in both.
func TestRepeatedHourInRealTime(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"hour", "1h", "0 * * * *", "@hourly", "0 */2 * * *", "0 0-23 * * *", "0 12-23,0-11 * * *"} {
		w := parse(t, "CRON_TZ=Europe/Berlin "+spec)
		first, second := w.Window(at(t, "2026-10-25T02:00:00+02:00")), w.Window(at(t, "2026-10-25T02:00:00+01:00"))
		if second.Key-first.Key != 3600 {
			t.Errorf("%s: %q and %q are %d s apart, want 3600", spec, first.Label, second.Label, second.Key-first.Key)
		}
	}
	w := parse(t, "CRON_TZ=Europe/Berlin 0 1-23 * * *") // names its hours
	if first, second := w.Window(at(t, "2026-10-25T02:00:00+02:00")), w.Window(at(t, "2026-10-25T02:00:00+01:00")); first != second {
		t.Errorf("an hour that is named: got %v and %v, want one window", first, second)
	}
}

// Hosts in different zones share the windows of days and hours.
func TestZonesShare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ spec, berlin, newYork string }{
		{"day", "2026-03-04T09:00:00+01:00", "2026-03-04T09:00:00-05:00"},
		{"week", "2026-03-04T09:00:00+01:00", "2026-03-06T09:00:00-05:00"},
		{"30 2 * * *", "2026-03-04T02:30:00+01:00", "2026-03-04T02:30:00-05:00"},
		{"hour", "2026-03-04T09:00:00+01:00", "2026-03-04T03:30:00-05:00"},
		{"15 * * * *", "2026-03-04T09:15:00+01:00", "2026-03-04T03:15:00-05:00"},
	} {
		a := parse(t, "CRON_TZ=Europe/Berlin "+tt.spec)
		b := parse(t, "TZ=America/New_York "+tt.spec)
		if a.String() != b.String() {
			t.Errorf("%s: got two strings: %q and %q", tt.spec, a, b)
		}
		if ka, kb := a.Window(at(t, tt.berlin)).Key, b.Window(at(t, tt.newYork)).Key; ka != kb {
			t.Errorf("%s: Berlin has %d, New York %d", tt.spec, ka, kb)
		}
	}
}
