package conditions

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// TestCommit is not parallel because it changes the directory.
func TestCommit(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if _, err := git(args...); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("README.md")
	write("faults/RESULTS.md")
	write("faults/parts/etcd.json")
	clean := regexp.MustCompile(`^[0-9a-f]{12}$`)
	if got := commit(); !clean.MatchString(got) {
		t.Errorf("with results: %s", got)
	}
	t.Chdir("faults")
	if got := commit(); !clean.MatchString(got) {
		t.Errorf("in another directory: %s", got)
	}
	write("../main.go")
	if got := commit(); !strings.HasSuffix(got, " with uncommitted changes") {
		t.Errorf("with a new source: %s", got)
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
