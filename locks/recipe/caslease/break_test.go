package caslease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

func breaks(t *testing.T, l locks.Lock, token uint64) error {
	t.Helper()
	return l.(locks.Breaker).Break(drive.Context(t), token)
}

// TestBreak: the holder of a lock that is broken learns of it by its next renewal. The next grant
// has a greater token and is not clean. A grant after a release is clean.
func TestBreak(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a, w := at(t, s, options("a")), at(t, s, options("operator"))
		g := drive.Hold(t, a)
		if err := a.(locks.Recorder).SetRecord(drive.Context(t), []byte("it ran")); err != nil {
			t.Fatal(err)
		}
		if err := breaks(t, w, g.Token+1); !errors.Is(err, locks.ErrLost) || !inspect(t, s).Held {
			t.Errorf("with another token: %v", err)
		}
		drive.Renew(t, a)
		if err := breaks(t, w, g.Token); err != nil || inspect(t, s).Held {
			t.Errorf("got %v, %+v", err, inspect(t, s))
		}
		if err := breaks(t, w, g.Token); !errors.Is(err, locks.ErrLost) {
			t.Errorf("a second Break: %v", err)
		}
		if err := renew(t, a); !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "free") {
			t.Errorf("the holder's renewal: %v", err)
		}
		b := at(t, s, options("b"))
		next := drive.Hold(t, b)
		if st := inspect(t, s); next.Clean || next.Token <= g.Token || st.Start != locks.StartTakeover {
			t.Errorf("the next grant: %+v after %d, and %+v", next, g.Token, st)
		}
		if err := a.Release(drive.Context(t)); err != nil || inspect(t, s).Holder != "b" {
			t.Errorf("the old holder's release: %v, %+v", err, inspect(t, s))
		}
		if text, err := b.(locks.Recorder).Record(drive.Context(t)); string(text) != "it ran" || err != nil {
			t.Errorf("the record: %q, %v", text, err)
		}
		drive.Release(t, b)
		c := at(t, s, options("c"))
		if last := drive.Hold(t, c); !last.Clean || last.Token <= next.Token || inspect(t, s).Start != locks.StartClean {
			t.Errorf("after a release: %+v, and %+v", last, inspect(t, s))
		}
	})
}

// catch keeps the next request of a kind from taking effect until late is closed.
func catch(s *sim, verb string) (arrived, late chan struct{}) {
	arrived, late = make(chan struct{}), make(chan struct{})
	caught := false
	s.Fault(func(r Request) Fault {
		if caught || r.Verb != verb {
			return Fault{}
		}
		caught = true
		close(arrived)
		return Fault{Late: late}
	})
	return arrived, late
}

// TestBreakIsOneStep: if a renewal comes between the read and the write, the store refuses the
// write. If the second read shows the same term, Break ends it; if it shows another term, Break
// does not.
func TestBreakIsOneStep(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]bool{"renewed": false, "taken over": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				a, b, w := at(t, s, options("a")), at(t, s, options("b")), at(t, s, patiently("operator"))
				g := drive.Hold(t, a)
				arrived, late := catch(s, "swap")
				done := make(chan error, 1)
				go func() { done <- w.(locks.Breaker).Break(context.Background(), g.Token) }()
				drive.Within(t, drive.Patience, arrived)
				if release {
					drive.Release(t, a)
					drive.Hold(t, b)
				} else {
					drive.Renew(t, a)
				}
				close(late)
				err := <-done
				if st := inspect(t, s); release && (!errors.Is(err, locks.ErrLost) || st.Holder != "b") || !release && (err != nil || st.Held) {
					t.Errorf("got %v, and afterwards %+v", err, st)
				}
			})
		})
	}
}

// TestBreakLostAnswer: if the answer was lost, another read finds out the outcome. A refusal for
// coming too soon is not a failure.
func TestBreakLostAnswer(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]Fault{
		"no answer": {LoseReply: true}, "lost": {Drop: true}, "twice": {Twice: true}, "too soon": {Err: refuse(causes.Throttled, "too soon")}, "an error": {Err: refuse(causes.Unknown, "Backend Error")},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				a, w := at(t, s, options("a")), at(t, s, patiently("operator"))
				g := drive.Hold(t, a)
				s.Next("swap", f)
				start := time.Now()
				if err := breaks(t, w, g.Token); err != nil || inspect(t, s).Held {
					t.Errorf("got %v, %+v", err, inspect(t, s))
				}
				if took := time.Since(start); name == "too soon" && took < time.Second {
					t.Errorf("refused for coming too soon, the write was repeated within %v", took)
				}
				if next := drive.Hold(t, at(t, s, options("b"))); next.Clean {
					t.Error("the next grant is clean")
				}
			})
		})
	}
}

// TestBreakSaysWhy: the holder receives what the operator who broke its term had asked before,
// unless a state has no room for that.
func TestBreakSaysWhy(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{"maintenance": "maintenance", "nothing": strings.Repeat("x", locks.MaxRecord)} {
		t.Run(want, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				a, w := at(t, s, options("a")), at(t, s, options("operator"))
				g := drive.Hold(t, a)
				drive.Ask(t, w.(locks.Asker), g.Token, text)
				if err := breaks(t, w, g.Token); err != nil {
					t.Fatal(err)
				}
				if n := len(stateOf(t, s)); n > caslease.MaxState {
					t.Errorf("a state of %d bytes", n)
				}
				if err := renew(t, a); !errors.Is(err, locks.ErrLost) {
					t.Errorf("renew: %v", err)
				}
				got := "nothing"
				select {
				case text := <-a.(locks.Asker).Asked():
					got = string(text)
				default:
				}
				if got != want {
					t.Errorf("asked %q", got)
				}
			})
		})
	}
}

// TestBreakWithoutLock: Break changes nothing if there is no cell, or a cell that is not a lock.
func TestBreakWithoutLock(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		w := at(t, s, options("operator"))
		if err := breaks(t, w, 1); !errors.Is(err, locks.ErrLost) {
			t.Errorf("without a cell: %v", err)
		}
		s.SetState(leaseCell, `{"state":"held","nonce":"n","ttl_ms":0,"token":5}`)
		before, _ := s.Cell(leaseCell)
		start := time.Now()
		if err := breaks(t, w, 5); !errors.Is(err, locks.ErrUsage) || time.Since(start) > 2*time.Second {
			t.Errorf("a cell that makes no sense: %v", err)
		}
		if after, _ := s.Cell(leaseCell); after.Version != before.Version {
			t.Error("the cell was changed")
		}
	})
}
