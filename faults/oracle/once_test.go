package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// TestOnce has two jobs in a window of ten seconds, and a third in the next.
func TestOnce(t *testing.T) {
	t.Parallel()
	// The window from 10:00:10 is that of runs that start at 6.7 s or later.
	const (
		first, second = "2026-01-02 10:00:00 +0000", "2026-01-02 10:00:10 +0000"
		twice         = "once: in the window " + first + " the jobs of leaderruns 5 and 6 have succeeded"
		skip          = "leaderrun: lock \"faults\": skipped: the window %s was run by a/%d/c0ffee, until 2026-01-02 10:00:04\n"
		forgotten     = "leaderrun: faults: the job succeeded, but this could not be recorded; it may run again window=\"%s\" err=\"timed out\"\n"
	)
	later := func(m []made) {
		m[1].begun, m[1].first, m[1].last, m[1].ended = 7, 7.1, 7.5, 7.6
		m[2].begun, m[2].first, m[2].last, m[2].ended, m[2].until, m[2].status = 17, 17.1, 18, 18.1, 22, 0
	}
	both := func([]made) {}
	for name, tt := range map[string]struct {
		log    string
		terms  func(m []made)
		other  trace.Entry
		want   string
		judged int
	}{
		"one in each":                           {"", later, trace.Entry{}, "", 3},
		"two in one":                            {"", both, trace.Entry{}, twice, 1},
		"one failed":                            {"", func(m []made) { m[1].status = 1 }, trace.Entry{}, "", 1},
		"one did not end by itself":             {"", func(m []made) { m[1].cut = true }, trace.Entry{}, "", 1},
		"one was asked to resign":               {"", both, struck(AskedToResign, "c", 3.3, 3.6), "", 1},
		"the cell ended":                        {"", both, trace.Entry{Kind: trace.Stopped, At: at(4)}, "", 1},
		"one started in the window before":      {"", func(m []made) { m[1].begun = -6 }, trace.Entry{}, "", 1},
		"one could not be recorded":             {fmt.Sprintf(forgotten, first), both, trace.Entry{}, "", 0},
		"one of another window could not":       {fmt.Sprintf(forgotten, second), both, trace.Entry{}, twice, 1},
		"the record has the same":               {fmt.Sprintf(skip, first, 5), later, trace.Entry{}, "", 3},
		"the record has another":                {fmt.Sprintf(skip, first, 70), later, trace.Entry{}, strings.ReplaceAll(twice, "and 6", "and 70"), 3},
		"the record had another a moment later": {fmt.Sprintf(skip+skip, second, 6, second, 8), later, trace.Entry{}, strings.ReplaceAll(strings.ReplaceAll(twice, first, second), "5 and 6", "6 and 8"), 3},
	} {
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, []byte(tt.log), 0o600); err != nil {
			t.Fatal(err)
		}
		h := history(with(func(m []made) {
			m[0].writes, m[1].writes, m[2].writes, m[2].status = nil, nil, nil, 1
			tt.terms(m)
		}), tt.other)
		v := Judge(h, Options{TTL: 5 * time.Second, Dir: t.TempDir(), Logs: []string{log}, Once: "CRON_TZ=UTC 10s", Epoch: time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)})
		if got := strings.Join(v.Wrong, "; "); got != tt.want || v.Figures.Windows != tt.judged {
			t.Errorf("%s: got %q, %d windows; want %q, %d", name, got, v.Figures.Windows, tt.want, tt.judged)
		}
	}
}

// TestNothingOnce has many jobs whose windows are not known, because they waited for too long.
func TestNothingOnce(t *testing.T) {
	t.Parallel()
	var all []made
	for i := range plenty {
		from := 40 + float64(i)
		all = append(all, made{host: "a", token: uint64(i + 1), begun: from - 30, first: from, last: from + 0.5, ended: from + 0.6})
	}
	o := Options{TTL: 5 * time.Second, Dir: t.TempDir(), Once: "CRON_TZ=UTC 10s", Epoch: time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)}
	if v := Judge(history(all), o); len(v.Wrong) != 1 || !strings.HasPrefix(v.Wrong[0], "once: nothing is known") {
		t.Errorf("got %q", v.Wrong)
	}
	if v := Judge(history(all[1:]), o); len(v.Wrong) > 0 {
		t.Errorf("one less: got %q", v.Wrong)
	}
}
