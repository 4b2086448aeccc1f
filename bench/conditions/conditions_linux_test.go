package conditions

import (
	"fmt"
	"regexp"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	t.Parallel()
	r := Begin()
	r.End()
	const want = `^- Commit: ([0-9a-f]{12}|unknown \(git ).*, on \d{4}-\d\d-\d\d
- Machine: .+, \d+ cores, [1-9]\d* GiB; Linux \d\S+; \S*go\d.*
- Load average: [0-9. ]+ before, [0-9. ]+ after
$`
	if got := r.String(); !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("got\n%s", got)
	}
}

func TestOthers(t *testing.T) {
	t.Parallel()
	before, err := parseProcessors("cpu  1000 10 500 9000 200 5 5 80 7 0\ncpu0 1 2 3\n")
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseProcessors("cpu  1100 10 550 9800 230 5 5 100 9 0\n") // 10 s, 8 of them idle
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		own  time.Duration
		disk bool
		want float64
	}{
		{0, true, 0.2},
		{0, false, 0.17},
		{500 * time.Millisecond, true, 0.15},
		{1700 * time.Millisecond, false, 0},
		{time.Minute, true, 0},
	} {
		if got := after.since(before).others(tt.own, tt.disk); fmt.Sprintf("%.3f", got) != fmt.Sprintf("%.3f", tt.want) {
			t.Errorf("own %v, disk %v: got %v, want %v", tt.own, tt.disk, got, tt.want)
		}
	}
	if _, err := parseProcessors("intr 1 2 3"); err == nil {
		t.Error("no error for another file")
	}
}

// TestWatch reads what this machine reports.
func TestWatch(t *testing.T) {
	t.Parallel()
	var w Watch
	if err := w.Begin(); err != nil {
		t.Fatal(err)
	}
	for start := own(); own()-start < 5*tick; {
		_ = processes() // uses time
	}
	share, by, err := w.Others(true)
	if err != nil || share < 0 || share > 1 {
		t.Errorf("got %v, %q, %v", share, by, err)
	}
}

func TestBusiest(t *testing.T) {
	t.Parallel()
	got := busiest(map[string]time.Duration{"1 (a)": 5, "2 (b)": 5, "3 (c)": 1, "6 (f)": 1}, map[string]time.Duration{"1 (a)": 6, "2 (b)": 5, "3 (c)": 9, "4 (d)": 1, "5 (e)": 3})
	if want := "[3 (c) 5 (e) 1 (a)]"; fmt.Sprint(got) != want {
		t.Errorf("got %s, want %s", fmt.Sprint(got), want)
	}
}
