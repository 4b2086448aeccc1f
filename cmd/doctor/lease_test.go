package doctor

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// TestWeigh judges a ttl by how long renewals take.
func TestWeigh(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ttl, took time.Duration
		want      Level
		fix       string
	}{
		{15 * time.Second, time.Millisecond, OK, ""},
		{15 * time.Second, time.Second, OK, ""},
		{15 * time.Second, 1100 * time.Millisecond, Warning, "--ttl 17s"},
		{15 * time.Second, 2 * time.Second, Warning, "--ttl 30s"},
		{15 * time.Second, 2001 * time.Millisecond, Error, "--ttl 16s"},
		{2 * time.Second, 500 * time.Millisecond, Error, "--ttl 4s"},
		{time.Hour, 11 * time.Second, Error, "no ttl is long enough"},
		{time.Hour, 6 * time.Second, OK, ""},
	} {
		e := &exam{Config: Config{TTL: tt.ttl}}
		c := e.weigh([]time.Duration{tt.took / 2, tt.took})
		if c.Level != tt.want || !strings.Contains(c.Fix, tt.fix) || (c.Fix == "") != (tt.fix == "") {
			t.Errorf("ttl %v, renewals of %v: got %+v; want %s and %q", tt.ttl, tt.took, c, tt.want, tt.fix)
		}
	}
}

// TestLeastTTL: the ttl is the shortest in which a renewal may take so long, and with which
// a run would start.
func TestLeastTTL(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{time.Millisecond, 300 * time.Millisecond, time.Second, 9 * time.Second} {
		e := &exam{Config: Config{TTL: 2 * time.Second}}
		least := e.weigh([]time.Duration{took}).Figures["least_ttl_ns"].(time.Duration)
		works := func(ttl time.Duration) bool {
			t := timing.New(ttl, timing.KillAfter)
			return t.CheckTTL() == nil && t.Gate(ttl) == nil && t.Attempt >= took
		}
		if !works(least) || works(least-time.Second) {
			t.Errorf("renewals of %v: the least ttl is said to be %v", took, least)
		}
	}
}

// TestGrantedTTL: no ttl is recommended that the service does not grant.
func TestGrantedTTL(t *testing.T) {
	t.Parallel()
	e := &exam{Config: Config{TTL: 15 * time.Second, MinTTL: 10 * time.Second}}
	if c := e.weigh([]time.Duration{time.Millisecond}); !strings.HasSuffix(c.Text, "these allow a ttl of 10s") {
		t.Errorf("got %q", c.Text)
	}
	if c := e.weigh([]time.Duration{9 * time.Second}); !strings.Contains(c.Fix, e.shortest(9*time.Second).String()) || e.shortest(9*time.Second) <= 10*time.Second {
		t.Errorf("got %q", c.Fix)
	}
}

func TestRank(t *testing.T) {
	t.Parallel()
	var all []time.Duration
	for n := range 50 {
		all = append(all, time.Duration(n+1))
	}
	for _, tt := range []struct {
		sorted  []time.Duration
		percent int
		want    time.Duration
	}{{all, 50, 25}, {all, 99, 50}, {all[:1], 50, 1}, {all[:1], 99, 1}, {all[:3], 50, 2}} {
		if got := rank(tt.sorted, tt.percent); got != tt.want {
			t.Errorf("the percentile %d of %d values is %d; want %d", tt.percent, len(tt.sorted), got, tt.want)
		}
	}
}

// TestMeasure renews a number of times, or for a time.
func TestMeasure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		slow, spacing time.Duration
		want          int
	}{
		{time.Millisecond, 0, renewals},
		{time.Second, 0, 5},
		{time.Millisecond, 1100 * time.Millisecond, 4},
		{4 * time.Second, 0, 2},
	} {
		s := newStore()
		s.slow = tt.slow
		synctest.Test(t, func(t *testing.T) {
			e := &exam{Config: config(s), scratch: "x"}
			e.Spacing = tt.spacing
			h, err := e.open(t.Context(), 15*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.take(t.Context()); err != nil {
				t.Fatal(err)
			}
			took, err := e.measure(t.Context(), h)
			if err != nil || len(took) != tt.want || took[0] != tt.slow {
				t.Errorf("%v, spaced %v: got %v, %v; want %d of them", tt.slow, tt.spacing, took, err, tt.want)
			}
			for i := range s.renewed[1:] {
				if apart := s.renewed[i+1].Sub(s.renewed[i]); apart < tt.spacing {
					t.Errorf("two writes %v apart; want %v", apart, tt.spacing)
				}
			}
		})
	}
}

// TestSpacing: the pause before a write is not part of the time that it takes, and leases
// are long enough for so few writes.
func TestSpacing(t *testing.T) {
	t.Parallel()
	s := newStore()
	checks := examine(t, s, func(c *Config) { c.Spacing = time.Second })
	for _, figure := range []struct{ check, name string }{{"permissions", "renew_ns"}, {"permissions", "record_ns"}, {"permissions", "release_ns"}, {"hand-over", "took_ns"}} {
		if got := find(t, checks, figure.check).Figures[figure.name]; got != time.Duration(0) {
			t.Errorf("%s of %s: got %v; want 0s", figure.name, figure.check, got)
		}
	}
	if c := find(t, checks, "round trip"); c.Figures["good_ttl_ns"] != 5*time.Second {
		t.Errorf("got %+v; want 5s, with a renewal a second", c)
	}
	if c := find(t, checks, "take-over"); c.Figures["lease_ns"] != 5*time.Second {
		t.Errorf("got %+v; want a lease of 5s", c)
	}
}

// TestSlowServer has a ttl that is too short for the server. The hand-over and the takeover
// use a longer one.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.slow = 500 * time.Millisecond
	checks := examine(t, s, func(c *Config) { c.TTL = 2 * time.Second })
	if c := find(t, checks, "round trip"); c.Level != Error || !strings.Contains(c.Fix, "--ttl 4s") || !errors.Is(worst(checks), locks.ErrUsage) {
		t.Errorf("got %+v, and the worst is %v", c, worst(checks))
	}
	if c := find(t, checks, "take-over"); c.Level != OK || c.Figures["lease_ns"] != 8*time.Second {
		t.Errorf("got %+v; want a lease of 8s", c)
	}
}

// TestLease compares the granted lease with the one that was asked for.
func TestLease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		granted time.Duration
		want    Level
	}{{15 * time.Second, OK}, {20 * time.Second, OK}, {14500 * time.Millisecond, Warning}, {10 * time.Second, Warning}, {9 * time.Second, Error}, {3 * time.Second, Error}} {
		s := newStore()
		s.grant = func(time.Duration) time.Duration { return tt.granted }
		c := find(t, examine(t, s, nil), "lease")
		if c.Level != tt.want || (c.Fix == "") != (tt.want == OK) || c.Figures["granted_ns"] != tt.granted {
			t.Errorf("granted %v: got %+v; want %s", tt.granted, c, tt.want)
		}
	}
}

// TestShortLeases: leases are renewed in time even if the server grants shorter ones than we
// ask for.
func TestShortLeases(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.grant = func(time.Duration) time.Duration { return 2 * time.Second }
	synctest.Test(t, func(t *testing.T) {
		e := &exam{Config: config(s), scratch: "x"}
		e.permissions(t.Context())
		if got := e.timing(15 * time.Second); got.Renew != 400*time.Millisecond {
			t.Errorf("renewed every %v; want 400ms", got.Renew)
		}
		if got := e.timing(time.Second); got.TTL != time.Second {
			t.Errorf("a lease of %v; want what was asked for", got.TTL)
		}
	})
}
