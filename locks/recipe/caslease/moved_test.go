package caslease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestRenewalMovesTheCell: each renewal changes the cell, because no store promises that a write
// that changes nothing moves what others judge the lease by. That includes a renewal whose
// answer was lost, or that arrived twice.
func TestRenewalMovesTheCell(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		for i, fault := range []Fault{{}, {}, {LoseReply: true}, {Twice: true}} {
			s.Age(leaseCell, time.Hour)
			before, _ := s.Cell(leaseCell)
			s.Next("swap", fault)
			if err := renew(t, a); err != nil {
				drive.Renew(t, a)
			}
			if after, _ := s.Cell(leaseCell); after.Version == before.Version || !after.Updated.After(before.Updated) {
				t.Errorf("renewal %d changed %+v to %+v", i, before, after)
			}
			if g, err := at(t, s, options("b")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
				t.Fatalf("just after a's renewal, b was granted %+v, %v", g, err)
			}
		}
	})
}

// stuck makes the answers to changes show an old field of the cell.
func stuck(s *sim, field string) {
	c, _ := s.Cell(leaseCell)
	s.Fault(func(r Request) Fault {
		if r.Verb != "swap" { // otherwise later swaps would be refused
			return Fault{}
		}
		at, _ := s.Cell(leaseCell)
		return Fault{Answer: func(answer *caslease.Cell) {
			if field == "stamp" {
				answer.Updated = c.Updated
			} else {
				answer.Version = at.Version
			}
		}}
	})
}

// TestStoreThatDoesNotMove: a store's answers to changes do not show that a field on which leases
// rely has moved. The error names the field. No renewal or acquire succeeds, and none is a loss.
func TestStoreThatDoesNotMove(t *testing.T) {
	t.Parallel()
	for name, expiry := range map[string]caslease.Expiry{"version": caslease.ByStamps, "stamp": caslease.ByStamps, "stamp by the clock": caslease.ByClock} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				s.expiry = expiry
				field, _, _ := strings.Cut(name, " ")
				a := at(t, s, options("a"))
				drive.Hold(t, a)
				stuck(s, field)
				for range 2 {
					if err := renew(t, a); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), field) || locks.Hint(err) == "" {
						t.Errorf("renew: %v (hint: %s); want ErrUnavailable that names %s", err, locks.Hint(err), field)
					}
				}
				s.Fault(nil)
				drive.Renew(t, a)
				drive.Release(t, a)
				stuck(s, field)
				if g, err := at(t, s, options("b")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), field) {
					t.Errorf("acquire: %+v, %v; want ErrUnavailable that names %s", g, err, field)
				}
			})
		})
	}
}

// stubborn refuses all writes because the cell had changed, although it had not.
func stubborn(r Request) Fault {
	if r.Verb == "read" {
		return Fault{}
	}
	return Fault{Err: refuse(causes.Changed, "the cell has changed")}
}

// TestStubbornStore: the error says what is wrong, whether the waiter's time ends early or not, and
// the store is not kept busy until then. The handle can be used again.
func TestStubbornStore(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"none", "released", "expired"} {
		for _, limit := range []time.Duration{time.Second, time.Hour} {
			t.Run(state+limit.String(), func(t *testing.T) {
				bubble(t, func(t *testing.T, s *sim) {
					prepare(t, s, state)
					l := at(t, s, options("b"))
					s.Fault(stubborn)
					for range 2 {
						verbs(s)
						ctx, cancel := context.WithTimeout(t.Context(), limit)
						start := time.Now()
						_, err := l.Acquire(ctx, false)
						cancel()
						if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "as if the cell had changed") || locks.Hint(err) == "" {
							t.Errorf("%v (hint: %s)", err, locks.Hint(err))
						}
						if n, took := verbs(s), time.Since(start); n["create"]+n["swap"] > 12 || took > 4*time.Second {
							t.Errorf("%v in %v", n, took)
						}
					}
					s.Fault(nil)
					drive.Hold(t, l)
				})
			})
		}
	}
}

// TestAlwaysBeaten: a waiter that somebody else beats again and again goes on, also if the store
// refuses a write for nothing in between. If it does not, the waiter's pauses stay short.
func TestAlwaysBeaten(t *testing.T) {
	t.Parallel()
	for every, want := range map[int]int{1: 200, 3: 20} {
		t.Run(fmt.Sprint(every), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				prepare(t, s, "released")
				n := 0
				s.Fault(func(r Request) Fault {
					if r.Verb != "swap" {
						return Fault{}
					}
					if n++; n%every > 0 {
						return stubborn(r)
					}
					s.Edit(leaseCell, func(*caslease.Cell) {})
					return Fault{}
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := at(t, s, options("b")).Acquire(ctx, false); ctx.Err() == nil || every == 1 && strings.Contains(err.Error(), "as if") {
					t.Errorf("acquire: %v", err)
				}
				if n < want {
					t.Errorf("%d writes in a minute; want at least %d", n, want)
				}
			})
		})
	}
}

// TestTakeWithoutTrace: the write that takes the lock took effect, its answer was lost, and a read
// shows the same Updated as before.
func TestTakeWithoutTrace(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		prepare(t, s, "released")
		before, _ := s.Cell(leaseCell)
		s.Fault(func(r Request) Fault {
			return Fault{LoseReply: r.Verb == "swap", Answer: func(c *caslease.Cell) { c.Updated = before.Updated }}
		})
		if g, err := at(t, s, options("b")).Acquire(drive.Context(t), true); err == nil {
			t.Errorf("granted %+v, though others cannot see since when", g)
		}
	})
}

// TestClockSetBack: the first stamp of a clock that was set back is before the last one. That
// renewal fails, and later ones succeed. So does a takeover.
func TestClockSetBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		s.Edit(leaseCell, func(*caslease.Cell) {})
		s.Age(leaseCell, -time.Minute) // as if stamped before the clock was set back
		if err := renew(t, a); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "stamp") {
			t.Errorf("renew: %v; want ErrUnavailable that names the stamp", err)
		}
		drive.Renew(t, a)
		drive.Release(t, a)
		s.Edit(leaseCell, func(*caslease.Cell) {})
		s.Age(leaseCell, -time.Minute)
		drive.Hold(t, at(t, s, options("b")))
	})
}

// TestSameRecordAgain: writing the same record again changes nothing, and succeeds.
func TestSameRecordAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		setRecord(t, a, "x")
		setRecord(t, a, "x")
		wantRecord(t, s, "twice the same", "x")
		drive.Renew(t, a)
		stuck(s, "version")
		if err := a.(locks.Recorder).SetRecord(drive.Context(t), []byte("y")); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("a change that moved nothing: %v; want ErrUnavailable", err)
		}
	})
}

// TestStateOfAnotherVersion: a state without what this version of leaderrun adds, or with what
// another version may add, is valid: the lock is renewed, held, and taken over.
func TestStateOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]*strings.Replacer{
		"older": strings.NewReplacer(`,"renewals":2`, ""),
		"newer": strings.NewReplacer(`"renewals":2`, `"renewals":18446744073709551615,"more":{"than":["this"]}`),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				a := at(t, s, options("a"))
				drive.Hold(t, a)
				drive.Renew(t, a)
				drive.Renew(t, a)
				before := stateOf(t, s)
				after := edit.Replace(before)
				if after == before {
					t.Fatalf("the state is %s", before)
				}
				s.SetState(leaseCell, after)
				if _, err := at(t, s, options("b")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
					t.Errorf("a contender: %v; want ErrHeld", err)
				}
				drive.Renew(t, a)
				s.SetState(leaseCell, after)
				s.Age(leaseCell, time.Hour)
				drive.Hold(t, at(t, s, options("b")))
			})
		})
	}
}
