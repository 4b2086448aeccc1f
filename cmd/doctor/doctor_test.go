package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// backendChecks are the checks that involve a server or a directory.
var backendChecks = []string{"backend", "helper", "settings", "server", "permissions", "round trip", "lease", "hand-over", "take-over", "clean up"}

// TestAllWell: all checks succeed, and nothing is left behind.
func TestAllWell(t *testing.T) {
	t.Parallel()
	s := newStore()
	checks := examine(t, s, nil)
	got := levels(t, checks)
	for _, name := range backendChecks {
		if got[name] != OK {
			t.Errorf("%s: got %q; want ok: %+v", name, got[name], find(t, checks, name))
		}
	}
	for _, c := range checks {
		if c.Text == "" || c.Level == OK && c.Fix != "" {
			t.Errorf("%+v: a check has a text, and one that is well needs no fix", c)
		}
	}
	if err := worst(checks); err != nil {
		t.Errorf("the worst is %v", err)
	}
	if len(s.forgot) != 1 || !s.free() {
		t.Errorf("deleted were %q, and the lock is free: %v; want one, and free", s.forgot, s.free())
	}
	for _, name := range s.names {
		if name != s.forgot[0] || !strings.HasPrefix(name, "leaderrun-doctor/") || locks.CheckName(name) != nil {
			t.Errorf("the lock %q was taken; deleted was %q", name, s.forgot)
		}
	}
}

// TestAcquireWithoutAnswer: an acquire without an answer may have been granted, so it is
// cleaned up.
func TestAcquireWithoutAnswer(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.mute = true
	checks := examine(t, s, nil)
	if c := find(t, checks, "acquire"); c.Level != Error || !errors.Is(c.classed(), locks.ErrUnavailable) {
		t.Errorf("got %+v; want that there was no answer", c)
	}
	if c := find(t, checks, "clean up"); c.Level != OK || len(s.forgot) != 1 {
		t.Errorf("got %+v, and deleted were %q", c, s.forgot)
	}
}

// TestEarlierOnes: the records of earlier doctors that were killed are deleted if those
// cannot be running any more. Locks with similar names are not.
func TestEarlierOnes(t *testing.T) {
	t.Parallel()
	s := newStore()
	synctest.Test(t, func(t *testing.T) {
		made := func(ago time.Duration) string {
			return fmt.Sprintf("leaderrun-doctor/%08x89abcdef", time.Now().Add(-ago).Unix())
		}
		s.others = []string{
			made(earlierAge + time.Minute), made(earlierAge / 2), made(-time.Hour), "jobs/" + made(2*earlierAge),
			"leaderrun-doctor/nightly-job-0001", "leaderrun-doctor/1",
		}
		checks := diagnose(t.Context(), t.Context(), config(s))
		if c := find(t, checks, "clean up"); c.Level != OK || c.Figures["earlier"] != 1 {
			t.Errorf("got %+v; want that one was deleted", c)
		}
		if len(s.forgot) != 2 || s.forgot[1] != s.others[0] {
			t.Errorf("deleted were %q; want the scratch lock and %q", s.forgot, s.others[0])
		}
		for range 2 * mostEarlier {
			s.others = append(s.others, made(2*earlierAge))
		}
		if c := find(t, diagnose(t.Context(), t.Context(), config(s)), "clean up"); c.Figures["earlier"] != mostEarlier {
			t.Errorf("got %+v; want %d and no more", c, mostEarlier)
		}
	})
}

// TestScratchNames: names begin as permissions may require, and never repeat.
func TestScratchNames(t *testing.T) {
	t.Parallel()
	a, b := scratchName("jobs/nightly"), scratchName("jobs/nightly")
	if !strings.HasPrefix(a, "jobs/nightly/leaderrun-doctor/") || a == b {
		t.Errorf("got %q and %q", a, b)
	}
	if err := checkName(strings.Repeat("x", 180)); !errors.Is(err, locks.ErrUsage) {
		t.Errorf("a name that leaves no room: %v; want ErrUsage", err)
	}
	if err := checkName("jobs"); err != nil {
		t.Error(err)
	}
}

// TestWithoutAbilities: only the checks are skipped whose ability the backend lacks.
func TestWithoutAbilities(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.can = nil
	checks := examine(t, s, nil)
	for _, name := range []string{"servers", "clean up"} {
		if c := find(t, checks, name); c.Level != Skipped || !strings.HasPrefix(c.Text, "skipped: this backend cannot ") {
			t.Errorf("got %+v; want it skipped", c)
		}
	}
	for _, name := range []string{"permissions", "round trip", "lease", "hand-over", "take-over"} {
		if c := find(t, checks, name); c.Level != OK {
			t.Errorf("got %+v; want ok", c)
		}
	}
	if c := find(t, checks, "permissions"); strings.Contains(c.Text, "record") {
		t.Errorf("%+v mentions a record, which the backend cannot keep", c)
	}
}

// TestPermanent has locks without a lease.
func TestPermanent(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.permanent = true
	checks := examine(t, s, nil)
	for _, name := range []string{"round trip", "lease", "take-over"} {
		if c := find(t, checks, name); c.Level != Skipped {
			t.Errorf("got %+v; want it skipped", c)
		}
	}
	for _, name := range []string{"permissions", "hand-over", "clean up"} {
		if c := find(t, checks, name); c.Level != OK {
			t.Errorf("got %+v; want ok", c)
		}
	}
}

// TestStopsWhereItMakesNoSense breaks each thing on which later checks depend.
func TestStopsWhereItMakesNoSense(t *testing.T) {
	t.Parallel()
	down := &locks.Error{Class: locks.ErrUnavailable, Err: errors.New("refused"), Hint: "start it"}
	for _, tt := range []struct {
		name  string
		at    string // the check that fails
		class error
		ruin  func(*store, *Config)
	}{
		{"malformed backend", "backend", locks.ErrUsage, func(_ *store, c *Config) { c.Backend = "etcd//x" }},
		{"no helper", "helper", locks.ErrUnavailable, func(_ *store, c *Config) { c.Find = func(string) (string, error) { return "", down } }},
		{"helper of others", "helper", locks.ErrDenied, func(_ *store, c *Config) { c.Find = func(string) (string, error) { return "", locks.ErrDenied } }},
		{"no start", "helper", locks.ErrUnavailable, func(s *store, _ *Config) { s.fail["open"] = down }},
		{"wrong settings of what is built in", "settings", locks.ErrUsage, func(s *store, c *Config) {
			s.fail["open"] = &locks.UsageError{What: "x"}
			c.Find = func(string) (string, error) { return "", nil }
		}},
		{"wrong settings", "settings", locks.ErrUsage, func(s *store, _ *Config) { s.fail["abilities"] = &locks.UsageError{What: "x"} }},
		{"no server asked", "servers", locks.ErrUnavailable, func(s *store, _ *Config) { s.fail["probe"] = down }},
		{"servers down", "server", locks.ErrUnavailable, func(s *store, _ *Config) {
			s.servers.Servers[0] = locks.Server{Address: "h:1", Error: "refused", Class: "unavailable"}
			s.fail["inspect"] = down
		}},
		{"no acquire", "acquire", locks.ErrDenied, func(s *store, _ *Config) { s.fail["acquire"] = locks.ErrDenied }},
		{"no release", "release", locks.ErrDenied, func(s *store, _ *Config) { s.fail["release"] = locks.ErrDenied }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStore()
			checks := examine(t, s, func(c *Config) { tt.ruin(s, c) })
			found := find(t, checks, tt.at)
			if tt.name == "no helper" && found.Fix != "start it" {
				t.Errorf("got %+v; want the backend's own hint", found)
			}
			if found.Level != Error || found.Fix == "" {
				t.Errorf("got %+v; want an error with a fix", found)
			}
			if got := worst(checks); !errors.Is(got, tt.class) {
				t.Errorf("the worst is %v; want %v", got, tt.class)
			}
			after := false
			for _, c := range checks {
				switch {
				case c.Name == tt.at:
					after = true
				case c.Name == "clean up", c.Name == "containment", c.Name == "boot clock":
				case after && c.Level != Skipped:
					t.Errorf("%+v comes after it; want it skipped", c)
				}
			}
			if find(t, checks, "boot clock").Level != OK {
				t.Error("this machine was not looked at")
			}
		})
	}
}

// TestHintOfServersThatAreDown: the fix is the hint that the backend gives elsewhere.
func TestHintOfServersThatAreDown(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.servers.Servers[0] = locks.Server{Address: "h:1", Error: "refused", Class: "unavailable"}
	s.fail["inspect"] = &locks.Error{Class: locks.ErrUnavailable, Err: errors.New("refused"), Hint: "start it"}
	if c := find(t, examine(t, s, nil), "server"); c.Fix != "start it" {
		t.Errorf("got %+v; want the backend's own hint", c)
	}
}

// TestTimeLimit ends during a check: the others are skipped, and the lock is cleaned up.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.slow = time.Second
	var checks []Check
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3500*time.Millisecond, errTimeLimit)
		defer cancel()
		checks = diagnose(ctx, t.Context(), config(s))
	})
	if c := find(t, checks, "round trip"); c.Level != Error || !strings.Contains(c.Fix, "--timeout") {
		t.Errorf("got %+v; want an error that names --timeout", c)
	}
	if c := find(t, checks, "hand-over"); c.Level != Skipped {
		t.Errorf("got %+v; want it skipped", c)
	}
	if c := find(t, checks, "clean up"); c.Level != OK || len(s.forgot) != 1 {
		t.Errorf("got %+v; want it cleaned up", c)
	}
}

// TestInterrupted is interrupted while an abandoned lease runs. The record is deleted when
// the lease has ended.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := newStore()
	var checks []Check
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := config(s)
		c.Progress = func(what string) {
			if strings.HasPrefix(what, "wait for") {
				cancel(errors.New("interrupted"))
			}
		}
		checks = diagnose(ctx, t.Context(), c)
	})
	if c := find(t, checks, "take-over"); c.Level != Skipped || c.Text != "interrupted" {
		t.Errorf("got %+v; want it skipped", c)
	}
	if worst(checks) != nil {
		t.Errorf("the worst is %v; want none, because an interruption is not a failure", worst(checks))
	}
	if c := find(t, checks, "clean up"); c.Level != OK || len(s.forgot) != 1 {
		t.Errorf("got %+v; want it cleaned up", c)
	}
}

// TestHurried: after a second signal, the clean-up is given up, which the check says.
func TestHurried(t *testing.T) {
	t.Parallel()
	s := newStore()
	var checks []Check
	synctest.Test(t, func(t *testing.T) {
		forced, cancel := context.WithCancel(t.Context())
		c := config(s)
		c.Progress = func(what string) {
			if what == "clean up" {
				cancel()
			}
		}
		s.fail["forget"] = &locks.HeldError{}
		var begun time.Time
		c.Report = func(check Check) {
			if check.Name == "boot clock" {
				begun = time.Now()
			}
		}
		checks = diagnose(t.Context(), forced, c)
		if took := time.Since(begun); took > 0 {
			t.Errorf("it went on for %v", took)
		}
	})
	if c := find(t, checks, "clean up"); c.Level != Warning || !strings.Contains(c.Fix, s.names[0]) {
		t.Errorf("got %+v; want a warning that names the lock", c)
	}
}

func TestWorst(t *testing.T) {
	t.Parallel()
	failed := func(class error) Check { return Check{Level: Error, class: class} }
	for _, tt := range []struct {
		checks []Check
		want   error
	}{
		{nil, nil},
		{[]Check{{Level: Warning, class: locks.ErrDenied}, {Level: OK}, {Level: Skipped}}, nil},
		{[]Check{failed(nil)}, errOther},
		{[]Check{failed(locks.ErrUsage), failed(nil)}, locks.ErrUsage},
		{[]Check{failed(nil), failed(locks.ErrDenied), failed(locks.ErrUsage)}, locks.ErrDenied},
		{[]Check{failed(locks.ErrUnavailable), failed(locks.ErrDenied)}, locks.ErrUnavailable},
	} {
		if got := worst(tt.checks); !errors.Is(got, tt.want) {
			t.Errorf("Worst(%+v) = %v; want %v", tt.checks, got, tt.want)
		}
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 12345: "12.3µs", 1234567: "1.23ms", 16234567: "16.2ms", 1234567890: "1.23s", 12345678900: "12.35s", 90 * time.Second: "1m30s",
	} {
		if got := show(d); got != want {
			t.Errorf("show(%d) = %q; want %q", d, got, want)
		}
	}
}
