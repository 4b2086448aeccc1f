package caslease_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestForeignCell: a cell that is not ours, or whose content is not known, is named by all who
// would change it, and stays as it is.
func TestForeignCell(t *testing.T) {
	t.Parallel()
	for why, foreign := range map[string]func(*caslease.Cell){
		"made by leaderrun; ":            func(c *caslease.Cell) { c.State, c.Record = "", nil },
		"leaderrun: it cannot be read; ": func(c *caslease.Cell) { c.State, c.Foreign = "a state", "cannot be read" },
	} {
		for _, parts := range [][]string{{leaseCell, requestCell}, {requestCell}} {
			synctest.Test(t, func(t *testing.T) {
				s := newSim(caslease.ByStamps)
				for _, cell := range parts {
					s.Edit(cell, foreign)
				}
				before, _ := s.Cell(parts[0])
				l := at(t, s, options("a"))
				calls := map[string]func() error{
					"ask":    func() error { return l.(locks.Asker).Ask(drive.Context(t), 1, []byte("x")) },
					"forget": func() error { return forget(t, l) },
				}
				if len(parts) == 2 {
					calls["acquire"] = func() error { _, err := l.Acquire(drive.Context(t), false); return err }
					calls["inspect"] = func() error { _, err := l.(locks.Inspector).Inspect(drive.Context(t)); return err }
					calls["break"] = func() error { return breaks(t, l, 1) }
				}
				if len(parts) == 2 && strings.Contains(why, "read") { // of the other, a record can be read
					calls["record"] = func() error { _, err := l.(locks.Recorder).Record(drive.Context(t)); return err }
				}
				for name, do := range calls {
					if err := do(); !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), why+"nothing of it was changed") {
						t.Errorf("%s: %v; want ErrUsage that says why", name, err)
					}
				}
				if after, _ := s.Cell(parts[0]); after.Version != before.Version {
					t.Errorf("%s has changed", parts[0])
				}
			})
		}
	}
}

// TestListOfBadRecord: a record that leaderrun did not write is not shown, and the log names it.
// A name that no lock can have is left out.
func TestListOfBadRecord(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		drive.Hold(t, at(t, s, options("a")))
		s.Edit(leaseCell, func(c *caslease.Cell) { c.Record, c.BadRecord = []byte("x"), true })
		s.SetState("p|0|../x", stateOf(t, s))
		s.SetState(leaseCell+"2", "?")
		var log drive.Log
		o := options("who asks")
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		all, _ := drive.List(t, at(t, s, o).(locks.Lister))
		if got, ok := all[lockName]; len(all) != 1 || !ok || got.Record != nil || got.Status.Holder != "a" {
			t.Errorf("got %+v", all)
		}
		for _, want := range []string{`msg="cannot read a record" backend=sim:// lock=` + lockName, `msg="left out of the list: not a lock"`} {
			if strings.Count(log.String(), want) != 1 {
				t.Errorf("the log has not once %s:\n%s", want, log.String())
			}
		}
	})
}

// TestStoresLeaseEnds: the store has ended its lease. Whether the cell is as it was or not, the
// holder learns of that by its next request, and its release changes nothing.
func TestStoresLeaseEnds(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]bool{"and nothing else": false, "and the cell has changed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSim(caslease.ByLease)
				l := at(t, s, options("a"))
				drive.Hold(t, l)
				s.mu.Lock()
				s.cells[leaseCell].lease = ""
				s.mu.Unlock()
				if changed {
					s.Edit(leaseCell, func(*caslease.Cell) {})
				}
				if err := renew(t, l); !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), "ended") {
					t.Errorf("renew: %v; want ErrLost, as the lease has ended", err)
				}
				b := at(t, s, options("b"))
				drive.Hold(t, b)
				drive.Release(t, l)
				drive.Renew(t, b)
			})
		})
	}
}

// TestWatchFindsTheEnd: a holder that hears of a change sees that the store has ended its lease.
func TestWatchFindsTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSim(caslease.ByLease)
		s.watched = true
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		time.Sleep(time.Second)
		s.mu.Lock()
		s.cells[leaseCell].lease = ""
		s.notify(leaseCell)
		s.mu.Unlock()
		if err := drive.Within(t, time.Second, l.Lost()); !strings.Contains(err.Error(), "ended") {
			t.Errorf("lost: %v", err)
		}
	})
}

// TestForgetLeased: a cell on which the store still has a lease is not deleted, even if its
// state says that the lock is free.
func TestForgetLeased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSim(caslease.ByLease)
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		s.SetState(leaseCell, strings.Replace(stateOf(t, s), `"held"`, `"free"`, 1))
		if err := forget(t, at(t, s, options("b"))); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("got %v; want ErrHeld", err)
		}
		if _, ok := s.Cell(leaseCell); !ok {
			t.Error("the cell was deleted")
		}
	})
}
