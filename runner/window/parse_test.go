package window_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/window"
)

// Errors say which part is wrong, and what is allowed.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ spec, want string }{
		{"", `window "" is empty`},
		{"  ", "is empty"},
		{"CRON_TZ=Europe/Berlin", "is empty"},
		{"CRON_TZ= day", "has no zone after CRON_TZ="},
		{"TZ=Europe/Nowhere day", `unknown time zone "Europe/Nowhere"`},
		{"TZ=../../etc/passwd day", `unknown time zone "../../etc/passwd"`},
		{"0", "must be whole seconds, from 1s to 8784h"},
		{"500ms", "must be whole seconds"},
		{"1500ms", "must be whole seconds"},
		{"-10m", "must be whole seconds"},
		{"8785h", "must be whole seconds"},
		{"367d", "must be whole seconds"},
		{"1.5", "must be whole seconds"},
		{"10x", "is not a duration (10m, 1h)"},
		{"days", `(did you mean "day"?)`},
		{"@dayly", `(did you mean "@daily"?); known: hour, day, week`},
		{"@every 5m", "has 2 fields"},
		{"@reboot", "or a known word"},
		{"* * * *", "has 4 fields; a cron expression has 5: minute, hour, day of month, month, day of week"},
		{"0 * * * * *", "has 6 fields"},
		{"60 * * * *", `has "60" as its minute: want * or 0 to 59`},
		{"0 24 * * *", `has "24" as its hour`},
		{"0 0 0 * *", `has "0" as its day of month`},
		{"0 0 * 13 *", "want * or 1 to 12, jan to dec"},
		{"0 0 * * 8", "want * or 0 to 7, sun to sat"},
		{"0 0 * * fry", `has "fry" as its day of week`},
		{"0 0 * * fri-mon", "the range runs backwards"},
		{"5/15 * * * *", "a step needs a range before it, such as 5-59/15"},
		{"*/0 * * * *", "a step must be a number from 1 to 59"},
		{"*/90 * * * *", "a step must be a number from 1 to 59"},
		{"*/ * * * *", "a step must be a number"},
		{"1,,2 * * * *", `has "" as its minute`},
		{"1-2-3 * * * *", "as its minute"},
		{"+1 * * * *", `has "+1" as its minute`},
		{"? * * * *", `has "?" as its minute`},
		{"0 0 L * *", `has "l" as its day of month`},
		{"0 0 30 2 *", "never occurs"},
		{"0 0 31 4,6,9,11 *", "never occurs"},
		{strings.Repeat("1,", 70) + " * * * *", "is longer than 128 bytes"},
	} {
		_, err := window.Parse(tt.spec, "UTC")
		if !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want a usage error with %q", tt.spec, err, tt.want)
		}
	}
}

// The zone of the schedule overrides the zone of the caller. Without either, the local
// zone counts.
func TestZone(t *testing.T) {
	t.Parallel()
	midnight := at(t, "2026-03-04T23:30:00Z") // in Berlin, half past midnight
	for _, tt := range []struct{ spec, zone, label string }{
		{"day", "Europe/Berlin", "2026-03-05"},
		{"CRON_TZ=UTC day", "Europe/Berlin", "2026-03-04"},
		{"TZ=UTC\tday", "Europe/Berlin", "2026-03-04"},
		{"day", "", midnight.Local().Format("2006-01-02")},
	} {
		w, err := window.Parse(tt.spec, tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Window(midnight).Label; got != tt.label {
			t.Errorf("%q in %q: got %q, want %q", tt.spec, tt.zone, got, tt.label)
		}
	}
	if _, err := window.Parse("day", "Mars/Olympus"); !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), "Mars/Olympus") {
		t.Errorf("an unknown zone: %v", err)
	}
}

// All spellings of one schedule have the same String.
func TestString(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"10m", "600s", "600", "6e2", "1e1m"},
		{"24h", "1d", "1d0h"},
		{"hour", "1h", "60m", "Hour"},
		{"day", "@daily", "@midnight", "0 0 * * *", " 0\t0 * * * ", "CRON_TZ=Asia/Kathmandu day"},
		{"week", "0 0 * * 1"},
		{"0 0 * * MON", "0 0 * * mon"},
	} {
		want := parse(t, same[0]).String()
		for _, spec := range same {
			if got := parse(t, spec).String(); got != want {
				t.Errorf("%q: got %q, want %q as for %q", spec, got, want, same[0])
			}
		}
	}
}

// Windows of any valid schedule end, and do not go back. Its String is a spelling of it.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"10m", "day", "week", "@hourly", "CRON_TZ=Europe/Berlin 30 2 * * *", "0 0 29 2 */7", "1-5/2,8 */6 * jan-mar sun"} {
		f.Add(seed, int64(1774750000))
	}
	f.Fuzz(func(t *testing.T, spec string, second int64) {
		w, err := window.Parse(spec, "Europe/Berlin")
		if err != nil {
			if !errors.Is(err, locks.ErrUsage) || len(err.Error()) > 600 {
				t.Fatalf("%q: %v", spec, err)
			}
			return
		}
		now := time.Unix(second%4e9, 0)
		first, end := w.Window(now), w.Ends(now)
		if !end.After(now) || w.Window(end).Key <= first.Key {
			t.Fatalf("%q at %v: %v ends at %v", spec, now, first, end)
		}
		again, err := window.Parse(w.String(), "Europe/Berlin")
		if err != nil || again.String() != w.String() {
			t.Fatalf("%q is called %q, which is %q, %v", spec, w, again, err)
		}
	})
}
