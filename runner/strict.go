package runner

import (
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// awaitFormerLease waits, if Strict, until the lease of the previous holder has ended for
// certain, unless that holder has released the lock. The server may have ended the lease
// early, while its holder still trusts it. If the record names no previous holder, there
// may have been one: deleting a lock may delete its record, and holders that are not Strict
// write none. A run that may not wait for so long does not get the lock.
func (t *term) awaitFormerLease() error {
	if !t.c.Strict || t.grant.TTL == 0 {
		return nil
	}
	since := t.c.Clock.Now()
	record, err := t.note(nil)
	if err != nil {
		return err
	}
	former := record.Term
	if former == nil {
		former = &ledger.Term{TTL: int64(t.grant.TTL)}
	}
	if wait := t.unproved(record.Term, since); wait > 0 {
		err = &locks.HeldError{Status: locks.Status{Held: true, Holder: former.By}}
		if since.Add(wait) <= t.c.startBy {
			err = t.idle(wait)
		}
		if err != nil {
			t.giveBack(former, since)
			return err
		}
	}
	err = t.mark(false)
	t.marked = err == nil
	return err
}

// unproved returns how long the lease of the previous holder may still last, and logs why
// we wait. It returns 0 if that holder has released the lock.
func (t *term) unproved(last *ledger.Term, now clock.Instant) (wait time.Duration) {
	switch {
	case last != nil && last.Unproved != nil: // who released the lock did not run under it
		wait = min(time.Duration(last.TTL), timing.MaxTTL)
		if seen, ok := last.Unproved.Seen[clock.Epoch()]; ok && 0 < seen && clock.Instant(seen) <= now {
			wait = max(wait-now.Sub(clock.Instant(seen)), 0)
		}
		t.report.log.Info("the lease of an earlier holder, which did not release the lock, has perhaps not ended", "wait", wait)
	case t.grant.Clean || last != nil && last.Clean:
		return 0
	case last == nil:
		wait = t.grant.TTL
		t.report.log.Info("no record of a previous holder; waiting as long as its lease might last", "wait", wait)
	default:
		wait = min(time.Duration(last.TTL), timing.MaxTTL)
		t.report.log.Info("the previous holder did not release the lock; waiting for the end of its lease", "wait", wait)
	}
	return wait
}

// giveBack notes, before the lock is released, that the former holder's lease may still last, and
// since when it has ended for the server. If it cannot, the lock is not released: the next holder
// would take our release for that of the former one.
func (t *term) giveBack(former *ledger.Term, since clock.Instant) {
	t.leaving = true
	if t.lease.lost() != nil {
		return // nobody will take that for a release
	}
	_, err := t.note(func(record *ledger.Record) error {
		if former.Unproved == nil {
			former.Unproved = new(ledger.Unproved)
		}
		former.Unproved.Note(clock.Epoch(), int64(since))
		former.Clean, record.Term = false, former
		return nil
	})
	if t.keeps = err != nil; t.keeps {
		t.report.log.Warn("the lock is not released: the next holder would not wait for the end of an earlier lease", "err", err)
		t.report.emit(event.Event{Kind: event.ReleaseFailed, Class: ClassOf(err), Reason: err.Error()})
	}
}

// mark notes whether our term has ended well.
func (t *term) mark(clean bool) error {
	_, err := t.note(func(record *ledger.Record) error {
		record.Term = &ledger.Term{Token: t.grant.Token, TTL: int64(t.grant.TTL), By: locks.Cut(t.c.Holder, maxRequestText), Clean: clean}
		return nil
	})
	return err
}

// markClean notes that our term ends well.
func (t *term) markClean() {
	if err := t.mark(true); err != nil {
		t.report.log.Warn("the next holder will wait for the end of our lease", "err", err)
	}
}
