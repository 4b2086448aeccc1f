package caslease_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestBare: of a store that has only what it must, the locks cannot be listed, watched or
// probed, and say so. All else works.
func TestBare(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := caslease.New(struct{ caslease.Store }{s.client("host", "p")}, caslease.Traits{Clock: clock.Bubble{}}, options("a"))
		t.Cleanup(func() { _ = l.Close() })
		all, err := l.Abilities(drive.Context(t))
		if want := []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanBreak, locks.CanForget}; err != nil || !slices.Equal(all, want) {
			t.Errorf("abilities: %q, %v; want %q", all, err, want)
		}
		if l.Lost() != nil {
			t.Error("somebody waits for a loss that nothing reports")
		}
		s.watched = true
		b := at(t, s, options("b"))
		if b.Lost() == nil {
			t.Error("nobody hears of a loss that a watch finds")
		}
		all, err = b.(locks.Able).Abilities(drive.Context(t))
		if want := []locks.Ability{locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanBreak, locks.CanForget, locks.CanList, locks.CanWatch, locks.CanProbe}; err != nil || !slices.Equal(all, want) {
			t.Errorf("abilities of a store that has all: %q, %v; want %q", all, err, want)
		}
		for name, do := range map[string]func() error{
			"list":  func() error { _, _, err := l.List(drive.Context(t), ""); return err },
			"watch": func() error { _, err := l.Watch(drive.Context(t), false); return err },
			"probe": func() error { _, err := l.Probe(drive.Context(t)); return err },
		} {
			if err := do(); !errors.Is(err, locks.ErrUsage) {
				t.Errorf("%s: %v; want ErrUsage", name, err)
			}
		}
		drive.Hold(t, l)
		drive.Renew(t, l)
		drive.Release(t, l)
	})
}

// TestAdoptNothing: what is not a term that we had is not adopted.
func TestAdoptNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		term := a.(locks.Adopter).Term()
		token := strings.Split(strings.SplitAfter(term, `"token":`)[1], ",")[0]
		for name, text := range map[string]string{
			"free":     strings.Replace(term, `"held"`, `"free"`, 1),
			"no token": strings.Replace(term, `"token":`+token+",", "", 1),
			"no JSON":  "?",
		} {
			b := at(t, s, options("b"))
			if err := b.(locks.Adopter).Adopt(text); !errors.Is(err, locks.ErrUsage) {
				t.Errorf("%s: %v; want ErrUsage", name, err)
			}
			if err := renew(t, b); !errors.Is(err, locks.ErrNoLease) {
				t.Errorf("%s: renew: %v; want ErrNoLease", name, err)
			}
		}
		if err := at(t, s, options("b")).(locks.Adopter).Adopt(term); err != nil {
			t.Errorf("the term: %v", err)
		}
	})
}

// TestClosed: all that is asked of a handle that was closed fails for that reason.
func TestClosed(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a, b := at(t, s, options("a")), at(t, s, options("b"))
		drive.Hold(t, a)
		for _, l := range []locks.Lock{a, b} {
			_ = l.Close()
		}
		_, err := b.Acquire(drive.Context(t), true)
		for what, err := range map[string]error{
			"acquire": err, "renew": renew(t, a), "adopt": b.(locks.Adopter).Adopt(a.(locks.Adopter).Term()),
			"record": a.(locks.Recorder).SetRecord(drive.Context(t), []byte("x")),
		} {
			if !errors.Is(err, workers.ErrClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestLeaseOfAnAttempt: the store gave its lease to a write of ours whose answer was lost. The
// next attempt takes the lock over from that one at once.
func TestLeaseOfAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSim(caslease.ByLease)
		s.Next("create", Fault{LoseReply: true})
		start := time.Now()
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		if got := stateOf(t, s); !strings.Contains(got, `.2","ttl_ms"`) {
			t.Errorf("the state is %s; want one of the second attempt", got)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the lock was granted after %v, which is a lease's length", took)
		}
		drive.Renew(t, l)
	})
}
