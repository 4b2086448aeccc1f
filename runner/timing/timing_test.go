package timing

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
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
		x := New(ttl, KillAfter)
		if err := x.Gate(ttl); err != nil {
			t.Errorf("%v: %v", ttl, err)
		}
		if err := x.CheckTTL(); err != nil {
			t.Errorf("%v: %v", ttl, err)
		}
		if x.Grace > KillAfter || x.Margin > time.Second || x.Death > time.Second || x.Attempt > 10*time.Second || x.Renew > 20*time.Second {
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
	got := New(15*time.Second, KillAfter)
	want := Timing{TTL: 15 * time.Second, Renew: 3 * time.Second, Attempt: 2 * time.Second, Grace: 5 * time.Second, Margin: time.Second, Death: time.Second, KillAfter: KillAfter}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	x := New(15*time.Second, KillAfter)
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
		if err := New(ttl, KillAfter).CheckTTL(); !errors.Is(err, locks.ErrUsage) {
			t.Errorf("%v: got %v, want a usage error", ttl, err)
		}
	}
}

// The grace is a third of the lease, --kill-after if that is less, and no more than what a lease
// leaves that is shorter than requested. Nothing else depends on --kill-after.
func TestGrace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ ttl, killAfter, granted, want time.Duration }{
		{time.Minute, KillAfter, time.Minute, KillAfter},
		{time.Minute, 100 * time.Hour, time.Minute, 20 * time.Second},
		{MaxTTL, 100 * time.Hour, MaxTTL, MaxTTL / 3},
		{15 * time.Second, time.Second, 15 * time.Second, time.Second},
		{15 * time.Second, KillAfter, 10 * time.Second, 990 * time.Millisecond}, // L(1−2ρ) = 9.99 s = 3 + 2×2 + 0.99 + 1 + 1
		{15 * time.Second, KillAfter, 9 * time.Second, 0},
		{15 * time.Second, KillAfter, time.Hour, KillAfter},
	} {
		got := New(tt.ttl, tt.killAfter).For(tt.granted)
		want := New(tt.ttl, 1)
		want.Grace, want.KillAfter = tt.want, tt.killAfter
		if got != want {
			t.Errorf("%+v: got %+v", tt, got)
		}
	}
}

// The gate is exact: a shorter lease does not fit. Its advice works.
func TestGate(t *testing.T) {
	t.Parallel()
	x := New(15*time.Second, KillAfter)
	const least = 9 * time.Second * 1000 / 999 // L(1−2ρ) = 9 s = 3 + 2×2 + 1 + 1
	if err := x.Gate(least + 1); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	err := x.Gate(least - 1)
	if !errors.Is(err, locks.ErrUsage) {
		t.Errorf("got %v, want a usage error", err)
	}
	want := "the lease of 9.01s that the server granted (for --ttl 15s) is too short: renewing every 3s, 2 attempts of 2s and margins of 2s need 9s; use --ttl 9s"
	if fmt.Sprint(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for range 200 {
		ttl := MinTTL + rand.N(time.Hour)
		granted := MinTTL + rand.N(ttl)
		err := New(ttl, KillAfter).Gate(granted)
		if err == nil {
			continue
		}
		_, advice, _ := strings.Cut(err.Error(), "use --ttl ")
		better, _ := time.ParseDuration(advice)
		if err := New(better, KillAfter).Gate(better); err != nil || better > granted {
			t.Errorf("granted %v: advised %q: %v", granted, advice, err)
		}
	}
}

// Shortest is the shortest TTL with room for a slow renewal.
func TestShortest(t *testing.T) {
	t.Parallel()
	for range 200 {
		attempt := rand.N(11 * time.Second)
		least := Shortest(attempt)
		fits := func(ttl time.Duration) bool {
			x := New(ttl, KillAfter)
			return x.CheckTTL() == nil && x.Attempt >= attempt
		}
		switch none := attempt > New(MaxTTL, KillAfter).Attempt; {
		case none && least <= MaxTTL:
			t.Errorf("renewals of %v: got %v; want none", attempt, least)
		case !none && (!fits(least) || fits(least-time.Second)):
			t.Errorf("renewals of %v: got %v, which is not the shortest that works", attempt, least)
		}
	}
}
