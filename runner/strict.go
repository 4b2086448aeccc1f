package runner

import (
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// former is the previous holder of the lock, as a strict takeover sees it.
type former struct {
	term *ledger.Term  // nil: the record was not read
	ends clock.Instant // until then, its lease may last
}

// noteFormer notes, if Strict, what the next holder must know if we release the lock before our
// job: that the previous holder's lease may still last, and since when it has ended for the server.
// If it has ended for certain, noteFormer notes our own term instead. This is the first step of a
// term, so everybody may release the lock from then on, at any time: we, or our guard if we die.
// A run that may not wait until that lease has ended does not get the lock.
//
// If the note fails, nobody knows whether it was written. Then the lock is not released, unless
// the previous holder is known to have done so: the next one would take our release for its.
func (t *term) noteFormer() error {
	if !t.r.Strict || t.grant.TTL == 0 {
		return nil
	}
	since := t.r.Clock.Now()
	_, err := t.note(func(record *ledger.Record) error {
		if t.former.term == nil { // else an earlier attempt may have changed the record
			t.former = t.previous(record.Term, since)
		}
		record.Term = t.former.term
		if t.former.ends <= since {
			record.Term = t.ownTerm(false)
		}
		return nil
	})
	wait := t.former.ends > since
	switch {
	case err == nil:
		t.marked = !wait
	case t.grant.Clean, t.former.term != nil && !wait, t.lease.lost() != nil:
		return err // nobody is misled by a release
	case errors.Is(err, ErrRecord):
		return err // no run that is Strict gets further
	default:
		t.keeps = true
		t.report.log.Warn("the lock is not released: the next holder would not wait for the end of an earlier lease", "err", err)
		t.report.emit(event.Event{Kind: event.ReleaseFailed, Class: ClassOf(err), Reason: err.Error()})
	}
	if wait && t.former.ends > t.r.startBy {
		return &locks.HeldError{Status: locks.Status{Held: true, Holder: t.former.term.By}}
	}
	return err
}

// awaitFormerLease waits, if Strict, until the lease of the previous holder has ended for
// certain, unless that holder has released the lock. The server may have ended the lease
// early, while its holder still trusts it.
func (t *term) awaitFormerLease() error {
	if !t.r.Strict || t.grant.TTL == 0 || t.marked {
		return nil
	}
	t.entrust()
	if err := t.idleUntil(t.former.ends, nil); err != nil {
		return err
	}
	err := t.mark(false)
	t.marked = err == nil
	return err
}

// previous returns what the record, and the server, know of the previous holder. If the record
// names none, there may have been one: deleting a lock may delete its record, and holders that
// are not Strict write none.
func (t *term) previous(last *ledger.Term, now clock.Instant) former {
	f := former{last, now.Add(t.unproved(last, now))}
	if last == nil {
		f.term = &ledger.Term{TTL: int64(t.grant.TTL)}
	}
	if f.term.Unproved == nil {
		f.term.Unproved = new(ledger.Unproved)
	}
	f.term.Unproved.Note(clock.Epoch(), int64(now))
	f.term.Clean = false
	return f
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

// ownTerm returns our term.
func (t *term) ownTerm(clean bool) *ledger.Term {
	return &ledger.Term{Token: t.grant.Token, TTL: int64(t.grant.TTL), By: locks.Cut(t.r.Holder, maxRequestText), Clean: clean}
}

// mark notes whether our term has ended well.
func (t *term) mark(clean bool) error {
	_, err := t.note(func(record *ledger.Record) error {
		record.Term = t.ownTerm(clean)
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
