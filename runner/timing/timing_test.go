package timing

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// ttls calls f with the ends of the range of TTLs, with special ones, and with many others.
func ttls(f func(ttl time.Duration)) {
	for _, ttl := range []time.Duration{MinTTL, MinTTL + 1, 15*time.Second - 1, 15 * time.Second, 15*time.Second + 1, 75 * time.Second, 100*time.Second + 1, MaxTTL - 1, MaxTTL} {
		f(ttl)
	}
	for ttl := MinTTL; ttl < time.Hour; ttl += 500 * time.Millisecond {
		f(ttl)
	}
	for range 20_000 {
		f(MinTTL + rand.N(MaxTTL-MinTTL))
	}
}

// The timing that New derives from a TTL always passes the gate, and no part of it is
// greater than documented.
func TestDerivedTiming(t *testing.T) {
	t.Parallel()
	ttls(func(ttl time.Duration) {
		x := New(ttl, -1)
		if err := x.Gate(ttl); err != nil {
			t.Errorf("%v: %v", ttl, err)
		}
		if err := x.CheckTTL(); err != nil {
			t.Errorf("%v: %v", ttl, err)
		}
		if x.Grace > 5*time.Second || x.Margin > time.Second || x.Death > time.Second || x.Attempt > 10*time.Second || x.Renew > 20*time.Second {
			t.Errorf("%v: got %+v", ttl, x)
		}
		if least := 100 * time.Millisecond; x.Margin < least || x.Death < least || x.Grace < least || x.Attempt < least || x.Renew < least {
			t.Errorf("%v: got %+v", ttl, x)
		}
		// The attempts that may time out fit before the signal.
		first := clock.Instant(0).Add(x.Renew)
		if last := first.Add(attempts * x.Attempt); last > x.SignalAt(clock.Instant(0).Add(keepalive.Trusted(ttl))) {
			t.Errorf("%v: %d attempts end at %v, after the signal", ttl, attempts, last)
		}
	})
}

func TestTimingOfTheDefault(t *testing.T) {
	t.Parallel()
	got := New(15*time.Second, -1)
	want := Timing{TTL: 15 * time.Second, Renew: 3 * time.Second, Attempt: 2 * time.Second, Grace: 5 * time.Second, Margin: time.Second, Death: time.Second}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	x := New(15*time.Second, -1)
	e := clock.Instant(100 * time.Second)
	if got, want := x.KillAt(e), clock.Instant(98*time.Second); got != want {
		t.Errorf("D_kill: got %v, want %v", got, want)
	}
	if got, want := x.SignalAt(e), clock.Instant(93*time.Second); got != want {
		t.Errorf("D_signal: got %v, want %v", got, want)
	}
}

func TestCheckTTL(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{0, 1, MinTTL - 1, MaxTTL + 1} {
		if err := New(ttl, -1).CheckTTL(); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("%v: got %v, want a usage error", ttl, err)
		}
	}
}

// An explicit grace replaces the default, and changes nothing else.
func TestExplicitGrace(t *testing.T) {
	t.Parallel()
	for _, grace := range []time.Duration{0, time.Second, time.Hour} {
		got, want := New(time.Minute, grace), New(time.Minute, -1)
		want.Grace = grace
		if got != want {
			t.Errorf("%v: got %+v, want %+v", grace, got, want)
		}
	}
}

// The gate is exact: with one nanosecond more, the timing does not fit.
func TestGate(t *testing.T) {
	t.Parallel()
	x := New(15*time.Second, -1)
	x.Grace += 5*time.Second - 15*time.Millisecond - 4*time.Second // L(1−2ρ) = 14.985 s = 3 + 2×2 + 5.985 + 1 + 1
	if err := x.Gate(15 * time.Second); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	x.Grace++
	if err := x.Gate(15 * time.Second); !errors.Is(err, locks.ErrUsage) {
		t.Errorf("got %v, want a usage error", err)
	}
}

var (
	advisedTTL   = regexp.MustCompile(`use --ttl (\S+) or more`)
	advisedGrace = regexp.MustCompile(`use --ttl (\S+) and a --kill-after of at most (\S+)$`)
)

// The settings that the gate advises work.
func TestGateAdvises(t *testing.T) {
	t.Parallel()
	for range 200 {
		ttl, grace := MinTTL+rand.N(time.Hour), rand.N(24*time.Hour)
		err := New(ttl, grace).Gate(ttl)
		if err == nil {
			continue
		}
		advice := advisedTTL.FindStringSubmatch(err.Error())
		if advice == nil {
			if x := New(MaxTTL, grace); x.Gate(MaxTTL) == nil {
				t.Errorf("no ttl is advised, but %v works: %v", MaxTTL, err)
			}
			continue
		}
		least, _ := time.ParseDuration(advice[1])
		for _, more := range []time.Duration{0, 1, time.Millisecond, time.Second, time.Hour, MaxTTL - least} {
			works(t, min(least+more, MaxTTL), grace)
		}
		if x := New(least-time.Second, grace); x.CheckTTL() == nil && x.Gate(least-time.Second) == nil {
			t.Errorf("%v would work as well: %v", least-time.Second, err)
		}
	}
}

// Shortest passes the gate with room for a slow renewal; a second less does not.
func TestShortest(t *testing.T) {
	t.Parallel()
	for range 200 {
		attempt, grace := rand.N(11*time.Second), rand.N(time.Hour)
		if rand.N(2) == 0 {
			grace = -1
		}
		least := Shortest(attempt, grace)
		fits := func(ttl time.Duration) bool {
			x := New(ttl, grace)
			return x.CheckTTL() == nil && x.Gate(ttl) == nil && x.Attempt >= attempt
		}
		if attempt > New(MaxTTL, -1).Attempt {
			if least <= MaxTTL {
				t.Errorf("renewals of %v: got %v; want none", attempt, least)
			}
			continue
		}
		if !fits(least) || fits(least-time.Second) {
			t.Errorf("renewals of %v, --kill-after %v: got %v, which is not the shortest that works", attempt, grace, least)
		}
	}
}

func works(t *testing.T, ttl, grace time.Duration) {
	t.Helper()
	x := New(ttl, grace)
	if err := errors.Join(x.CheckTTL(), x.Gate(ttl)); err != nil {
		t.Errorf("--ttl %v --kill-after %v: %v", ttl, grace, err)
	}
}

// If the server grants less than we request, the advice is not to request more.
func TestGateAdvisesAfterASmallerGrant(t *testing.T) {
	t.Parallel()
	for range 200 {
		ttl := MinTTL + rand.N(time.Hour)
		granted := MinTTL + rand.N(ttl)
		err := New(ttl, -1).Gate(granted)
		if err == nil || granted >= ttl {
			continue
		}
		advice := advisedGrace.FindStringSubmatch(err.Error())
		if advice == nil {
			t.Errorf("no advice in: %v", err)
			continue
		}
		grace, _ := time.ParseDuration(advice[2])
		newTTL, _ := time.ParseDuration(advice[1])
		if newTTL > granted {
			t.Errorf("granted %v: advised to request more: %v", granted, err)
		}
		works(t, newTTL, grace)
	}
}

// The message names each part of the sum.
func TestGateNamesTheParts(t *testing.T) {
	t.Parallel()
	err := New(10*time.Second, 10*time.Second).Gate(10 * time.Second)
	want := "--ttl 10s is too short: renewing every 2s, 2 attempts of 1.33s, --kill-after 10s and margins of 1.33s need 16s; use --ttl 25s or more, or a shorter --kill-after"
	if fmt.Sprint(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	err = New(40*time.Second, 20*time.Second).Gate(40 * time.Second) // the margins are an eighth
	want = "--ttl 40s is too short: renewing every 8s, 2 attempts of 5.33s, --kill-after 20s and margins of 5s need 43.67s; use --ttl 50s or more, or a shorter --kill-after"
	if fmt.Sprint(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
