package window_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the machine may lack zones

	"github.com/leaderrun/leaderrun/runner/window"
)

func parse(t testing.TB, spec string) window.Schedule {
	t.Helper()
	w, err := window.Parse(spec, "UTC")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func wallKey(t testing.TB, text string) int64 {
	t.Helper()
	return at(t, text+":00Z").Unix()
}

// Each kind of schedule has the right windows.
func TestWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ spec, now, label string }{
		{"10m", "2026-03-04T05:06:07Z", "2026-03-04 05:00 +0000"},
		{"600", "2026-03-04T05:09:59Z", "2026-03-04 05:10 +0000"},
		{"10s", "2026-03-04T05:06:07.9Z", "2026-03-04 05:06:10 +0000"},
		{"1s", "2026-03-04T05:06:07.5Z", "2026-03-04 05:06:07 +0000"},
		{"7h", "1970-01-01T06:57:59Z", "1970-01-01 00:00 +0000"},
		{"7h", "1970-01-01T06:58:00Z", "1970-01-01 07:00 +0000"},
		{"10m", "1969-12-31T23:51:00Z", "1969-12-31 23:50 +0000"},
		{"hour", "2026-03-04T05:57:59.9Z", "2026-03-04 05:00 +0000"},
		{"hour", "2026-03-04T05:58:00Z", "2026-03-04 06:00 +0000"},
		{"CRON_TZ=Asia/Kathmandu hour", "2026-03-04T05:30:00Z", "2026-03-04 10:45 +0545"},
		{"day", "2026-03-04T05:06:07Z", "2026-03-04"},
		{"day", "2026-03-04T23:57:59Z", "2026-03-04"},
		{"day", "2026-03-04T23:58:00Z", "2026-03-05"},
		{"CRON_TZ=Asia/Kathmandu day", "2026-03-04T18:12:59Z", "2026-03-04"},
		{"CRON_TZ=Asia/Kathmandu day", "2026-03-04T18:13:00Z", "2026-03-05"},
		{"week", "2026-03-08T23:57:00Z", "week of 2026-03-02"},
		{"week", "2026-03-09T00:00:00Z", "week of 2026-03-09"},
		{"@weekly", "2026-03-09T00:00:00Z", "2026-03-08 00:00"},
		{"@daily", "2026-03-09T12:00:00Z", "2026-03-09 00:00"},
		{"@monthly", "2026-03-09T12:00:00Z", "2026-03-01 00:00"},
		{"@yearly", "2026-03-09T12:00:00Z", "2026-01-01 00:00"},
		{"@hourly", "2026-03-09T12:10:00Z", "2026-03-09 12:00 +0000"},
		{"30 2 * * *", "2026-03-09T02:27:59Z", "2026-03-08 02:30"},
		{"30 2 * * *", "2026-03-09T02:28:00Z", "2026-03-09 02:30"},
		{"*/5 * * * *", "2026-03-09T02:28:19Z", "2026-03-09 02:25 +0000"},
		{"*/5 * * * *", "2026-03-09T02:28:20Z", "2026-03-09 02:30 +0000"},
		{"* * * * *", "2026-03-09T02:28:39Z", "2026-03-09 02:28 +0000"},
		{"* * * * *", "2026-03-09T02:28:40Z", "2026-03-09 02:29 +0000"},
		{"0,1 3 * * *", "2026-03-09T02:59:00Z", "2026-03-09 03:00"},
		{"0,1 3 * * *", "2026-03-09T03:00:39Z", "2026-03-09 03:00"},
		{"0,1 3 * * *", "2026-03-09T03:00:40Z", "2026-03-09 03:01"},
		{"0 9-17/4 * * MON-Fri", "2026-03-09T08:00:00Z", "2026-03-06 17:00"},
		{"0 0 * * 7", "2026-03-10T00:00:00Z", "2026-03-08 00:00"},
		{"0 0 * * 5-7", "2026-03-10T00:00:00Z", "2026-03-08 00:00"},
		{"0 0 13 * 5", "2026-03-14T00:00:00Z", "2026-03-13 00:00"},
		{"0 0 10 * 5", "2026-03-12T00:00:00Z", "2026-03-10 00:00"},
		{"0 0 */2 * 1", "2026-03-20T00:00:00Z", "2026-03-09 00:00"}, // a "*" in either: both must match
		{"0 0 13 * */5", "2026-03-20T00:00:00Z", "2026-03-13 00:00"},
		{"0 0 29 2 *", "2027-01-01T00:00:00Z", "2024-02-29 00:00"},
		{"0 0 29 2 *", "2103-01-01T00:00:00Z", "2096-02-29 00:00"},
		{"0 0 31 jan,4 *", "2026-12-01T00:00:00Z", "2026-01-31 00:00"},
		{"0 0 29 2 */7", "2121-01-01T00:00:00Z", "2088-02-29 00:00"},
		{"  0\t0  * *   * ", "2026-03-09T12:00:00Z", "2026-03-09 00:00"},
	} {
		if got := parse(t, tt.spec).Window(at(t, tt.now)).Label; got != tt.label {
			t.Errorf("%s at %s: got %q, want %q", tt.spec, tt.now, got, tt.label)
		}
	}
}

// Hosts whose clocks are up to 90 s slow or fast mean the same window if they start the
// job when it begins, or up to a minute later.
func TestSkewedClocks(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"5m", "10m", "1h", "hour", "day", "*/10 * * * *", "30 2 * * *", "0 0 * * *"} {
		w := parse(t, spec)
		want := w.Window(w.Ends(at(t, "2026-05-06T07:08:09Z")))
		edge := time.Unix(want.Key, 0)
		for skew := -90 * time.Second; skew <= 90*time.Second; skew += time.Second {
			for _, late := range []time.Duration{0, time.Minute} {
				if got := w.Window(edge.Add(skew + late)); got != want {
					t.Errorf("%s: a clock off by %v, %v late: got %q, want %q", spec, skew, late, got.Label, want.Label)
				}
			}
		}
	}
}

// TestBegins: a window says when it begins, by the zone of the host, and its label is known from
// the schedule and the key alone.
func TestBegins(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ spec, begins string }{
		{"CRON_TZ=Asia/Tokyo day", "2026-03-03T15:00:00Z"},
		{"CRON_TZ=America/New_York week", "2026-03-02T05:00:00Z"},
		{"CRON_TZ=Asia/Tokyo 10m", "2026-03-04T05:10:00Z"},
	} {
		s := parse(t, tt.spec)
		got := s.Window(at(t, "2026-03-04T05:10:00Z"))
		if want := at(t, tt.begins).Unix(); got.Begins != want {
			t.Errorf("%s begins at %d; want %d", tt.spec, got.Begins, want)
		}
		if label := window.Label(s.String(), got.Key); s.String() != "10m0s" && label != got.Label {
			t.Errorf("%s is %q; want %q", tt.spec, label, got.Label)
		}
	}
	if got := window.Label("day and night", 1); got != "" {
		t.Errorf("an invalid schedule has the label %q", got)
	}
}
