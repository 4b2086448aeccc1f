package metrics

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/monitor/metrics/feed"
)

// input returns the feed of a run whose job ends with the given code. -1: the run did not
// get the lock.
func input(t *testing.T, file, lock string, code int) string {
	t.Helper()
	var b strings.Builder
	feedLines := json.NewEncoder(&b)
	at := clock.Boot{}.Now()
	tell := func(l feed.Line) {
		l.At = at
		if err := feedLines.Encode(l); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
	}
	tell(feed.Line{Open: &feed.Open{File: file, Lock: lock, Version: "v1"}})
	if code < 0 {
		return b.String()
	}
	for _, kind := range []event.Kind{event.Acquired, event.Started} {
		tell(feed.Line{Event: &event.Event{Kind: kind, TTLMS: 15000}, Deadline: at.Add(15 * time.Second)})
	}
	tell(feed.Line{Event: &event.Event{Kind: event.Exited, Code: &code, Time: time.Unix(int64(1_700_000_000+code), 0)}})
	tell(feed.Line{Event: &event.Event{Kind: event.Released}})
	return b.String()
}

// exported runs the program with an input, and returns its log.
func exported(t *testing.T, in string) string {
	t.Helper()
	var log bytes.Buffer
	if err := export(strings.NewReader(in), slog.New(slog.NewJSONHandler(&log, nil))); err != nil {
		t.Error(err)
	}
	return log.String()
}

func parsed(t *testing.T, file string) (families []*dto.MetricFamily) {
	t.Helper()
	f, err := openTextfile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, err := f.read()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range before {
		families = append(families, family)
	}
	return families
}

// TestCountersCarryOn runs two locks in turn.
func TestCountersCarryOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "leaderrun.prom")
	for _, in := range []string{
		input(t, file, "a", 0), input(t, file, "b", 0), input(t, file, "a", 3), input(t, file, "a", 3),
	} {
		if log := exported(t, in); log != "" {
			t.Errorf("logged %s", log)
		}
	}
	got := parsed(t, file)
	for _, tt := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{3, "terms_total", []string{"lock", "a"}},
		{1, "terms_total", []string{"lock", "b"}},
		{1, "job_exits_total", []string{"lock", "a", "code", "0"}},
		{2, "job_exits_total", []string{"lock", "a", "code", "3"}},
		{3, "transitions_total", []string{"lock", "a", "event", "started", "class", ""}},
		{3, "job_duration_seconds", []string{"lock", "a"}},
		{1_700_000_000, "job_last_success_timestamp_seconds", []string{"lock", "a"}},
		{0, "is_leader", []string{"lock", "a"}},
		{0, "is_leader", []string{"lock", "b"}},
		{1, "build_info", []string{"version", "v1"}},
	} {
		if got := valueIn(got, "leaderrun_"+tt.name, tt.labels...); got != tt.want {
			t.Errorf("%s%v is %v, want %v", tt.name, tt.labels, got, tt.want)
		}
	}
	for _, f := range got {
		if f.GetName() == "leaderrun_job_duration_seconds" {
			buckets := f.Metric[0].Histogram.Bucket
			if last := buckets[len(buckets)-1].GetCumulativeCount(); last != 3 && last != 1 {
				t.Errorf("the last bucket has %d", last)
			}
		}
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 {
		t.Errorf("there are %v, %v; want the file alone", names, err)
	}
}

// TestGarbageIsReplaced: the file is not one of metrics, or has metrics of others.
func TestGarbageIsReplaced(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		warn bool
	}{
		"garbage":      {"\x00\xff garbage\n", true},
		"half":         {"# TYPE leaderrun_terms_total counter\nleaderrun_terms_total{lock=\"a", true},
		"too long":     {strings.Repeat("# x\n", maxTextfile/4+1), true},
		"empty":        {"", false},
		"another type": {"# TYPE leaderrun_terms_total gauge\nleaderrun_terms_total{lock=\"a\"} 5\n", false},
		"buckets":      {"# TYPE leaderrun_job_duration_seconds histogram\nleaderrun_job_duration_seconds_bucket{lock=\"a\",le=\"7\"} 5\nleaderrun_job_duration_seconds_bucket{lock=\"a\",le=\"+Inf\"} 5\nleaderrun_job_duration_seconds_sum{lock=\"a\"} 5\nleaderrun_job_duration_seconds_count{lock=\"a\"} 5\n", false},
		"others":       {"other_total{lock=\"a\"} 5\nleaderrun_gone_total 5\n", false},
	} {
		file := filepath.Join(t.TempDir(), "x.prom")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		log := exported(t, input(t, file, "a", 0))
		if warned := strings.Contains(log, "is invalid and will be replaced"); warned != tt.warn {
			t.Errorf("%s: logged %q", name, log)
		}
		got := parsed(t, file)
		if v := valueIn(got, "leaderrun_terms_total", "lock", "a"); v != 1 {
			t.Errorf("%s: %v terms, want 1", name, v)
		}
		if v := valueIn(got, "leaderrun_job_duration_seconds", "lock", "a"); v != 1 {
			t.Errorf("%s: jobs took %v s, want 1", name, v)
		}
		if v := valueIn(got, "other_total"); v != absent {
			t.Errorf("%s: what is not ours was kept", name)
		}
	}
}

// TestRefusedRunLeavesTheFile: a run that did not get the lock leaves the file alone, because
// another run on the same host may hold the lock.
func TestRefusedRunLeavesTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.prom")
	exported(t, input(t, file, "a", -1))
	if v := valueIn(parsed(t, file), "leaderrun_is_leader", "lock", "a"); v != 0 {
		t.Errorf("where there is no file: is_leader is %v, want 0", v)
	}
	const leads = "# TYPE leaderrun_is_leader gauge\nleaderrun_is_leader{lock=\"a\"} 1\n"
	if err := os.WriteFile(file, []byte(leads), 0o600); err != nil {
		t.Fatal(err)
	}
	exported(t, input(t, file, "a", -1))
	if got, err := os.ReadFile(file); err != nil || string(got) != leads {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestRunsShareTheFile: as in a crontab with -w, one run waits while another on the same host
// leads, and then leads itself. Neither loses the counts of the other, and the one that
// waits does not report that nobody leads.
func TestRunsShareTheFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.prom")
	first, second := newRig(t, feed.Open{File: file}), newRig(t, feed.Open{File: file})
	writers := map[*rig]*textfile{}
	for _, r := range []*rig{first, second} {
		f, err := openTextfile(file)
		if err != nil {
			t.Fatal(err)
		}
		writers[r] = f
	}
	write := func(r *rig) {
		t.Helper()
		if err := writers[r].write(r.registry, "nightly", r.hasLed()); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want float64, name string, labels ...string) {
		t.Helper()
		if got := valueIn(parsed(t, file), "leaderrun_"+name, labels...); got != want {
			t.Errorf("%s%v is %v, want %v", name, labels, got, want)
		}
	}
	first.acquired()
	first.kinds(event.Started)
	write(first)
	second.kinds(event.Waiting)
	write(second)
	is(1, "is_leader")
	is(7, "fencing_token")
	is(15, "lease_ttl_seconds")
	is(1, "transitions_total", "event", "waiting")
	first.pass(3 * time.Second)
	first.exited(0)
	first.kinds(event.Released)
	write(first)
	is(0, "is_leader")
	is(1, "transitions_total", "event", "waiting")
	write(second) // its wait is over
	is(1, "terms_total")
	is(3, "job_duration_seconds")
	is(1_700_000_000, "job_last_success_timestamp_seconds")
	second.acquired()
	second.kinds(event.Started)
	second.exited(3)
	second.kinds(event.Started)
	success := 0
	second.tell(event.Event{Kind: event.Exited, Code: &success, Time: time.Unix(1_600_000_000, 0)}) // its clock was set
	write(second)
	is(1, "is_leader")
	is(2, "terms_total")
	is(3, "job_runs_total")
	is(2, "job_exits_total", "code", "0")
	is(1, "job_exits_total", "code", "3")
	is(1_700_000_000, "job_last_success_timestamp_seconds")
}

// TestFileOfAFrozenLeader: the file is written when the lease ends, although no event says so, and
// not at each renewal.
func TestFileOfAFrozenLeader(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.prom")
	synctest.Test(t, func(t *testing.T) {
		now := clock.Bubble{}.Now
		s := newState(clock.Bubble{}, feed.Line{At: now(), Open: &feed.Open{File: file, Lock: "a"}})
		w := newWriter(s, newRegistry(s), slog.New(slog.DiscardHandler))
		defer w.close()
		after := func(d time.Duration, want float64) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			got := parsed(t, file)
			if v := valueIn(got, "leaderrun_is_leader"); v != want {
				t.Errorf("is_leader is %v, want %v", v, want)
			}
		}
		s.learn(feed.Line{At: now(), Event: &event.Event{Kind: event.Acquired, TTLMS: 15000}, Deadline: now().Add(15 * time.Second)})
		w.changed()
		after(10*time.Second, 1)
		s.learn(feed.Line{At: now(), Renewal: &feed.Renewal{}, Deadline: now().Add(15 * time.Second)})
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		after(14*time.Second, absent)
		after(2*time.Second, 0)
		if v := valueIn(parsed(t, file), "leaderrun_lease_remaining_seconds"); v != 0 {
			t.Errorf("%v s are left of the lease", v)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		after(time.Hour, absent)
	})
}

// TestFileThatCannotBeWritten: the failure is logged once.
func TestFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	log := exported(t, input(t, filepath.Join(t.TempDir(), "none", "x.prom"), "a", 0))
	if n := strings.Count(log, "the file of metrics was not written"); n != 1 {
		t.Errorf("logged %d times: %s", n, log)
	}
}

// TestUmask checks that the umask decides who can read the file. It does not run in parallel
// with others: there is one umask for all.
func TestUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	file := filepath.Join(t.TempDir(), "x.prom")
	for umask, want := range map[int]os.FileMode{0o022: 0o644, 0o077: 0o600, 0o027: 0o640} {
		syscall.Umask(umask)
		if err := replace(file, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode() != want {
			t.Errorf("umask %o: got %v, %v; want %v", umask, info.Mode(), err, want)
		}
	}
}
