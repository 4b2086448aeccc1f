package caslease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestRenewalMovesTheCell: a renewal is a change, as nobody promises that a write
// that changes nothing moves what others judge the lease by. One whose answer was
// lost, or that arrived twice, is no exception.
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
				t.Errorf("renewal %d made of %+v %+v", i, before, after)
			}
			if g, err := at(t, s, options("b")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
				t.Fatalf("beside a, just after its renewal, b was granted %+v, %v", g, err)
			}
		}
	})
}

// stuck has what a cell shows stay as it is, as far as answers to changes tell.
func stuck(s *sim, field string) {
	c, _ := s.Cell(leaseCell)
	s.Fault(func(r Request) Fault {
		if r.Verb != "swap" { // else what follows were refused
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

// TestStoreThatDoesNotMove is one whose answers to changes do not show what leases
// rely on. It is named, nothing is renewed nor had, and nothing is lost for sure.
func TestStoreThatDoesNotMove(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"version", "stamp"} {
		t.Run(field, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
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

// TestTakeWithoutTrace: the write that takes the lock took effect, its answer was
// lost, and what is read shows no later "updated" than before.
func TestTakeWithoutTrace(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		prepare(t, s, "released")
		before, _ := s.Cell(leaseCell)
		s.Fault(func(r Request) Fault {
			return Fault{LoseReply: r.Verb == "swap", Answer: func(c *caslease.Cell) { c.Updated = before.Updated }}
		})
		if g, err := at(t, s, options("b")).Acquire(drive.Context(t), true); err == nil {
			t.Errorf("granted %+v, though nobody can see since when", g)
		}
	})
}

// TestClockSetBack: the first stamp of the clock that was set back is before the
// last. That renewal fails, and those after it succeed. So does a takeover.
func TestClockSetBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		s.Edit(leaseCell, func(*caslease.Cell) {})
		s.Age(leaseCell, -time.Minute) // it was stamped by the clock before
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

// TestSameRecordAgain: to write the text that is there changes nothing, and is well.
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

// TestRecordOfAnotherVersion: one without what this version adds, and one with what
// another may add, are records as well: the lock is renewed, held, and taken over.
func TestRecordOfAnotherVersion(t *testing.T) {
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
				before := record(t, s)
				after := edit.Replace(before)
				if after == before {
					t.Fatalf("the record is %s", before)
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
