package runner

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// awaitFormerLease waits, if Strict, until the lease of the previous holder has ended for
// certain, unless that holder has released the lock. The server may have ended the lease
// early, while its holder still trusts it. If the record names no previous holder, there
// may have been one: deleting a lock may delete its record, and holders that are not Strict
// write none.
func (t *term) awaitFormerLease() error {
	if !t.c.Strict || t.grant.TTL == 0 {
		return nil
	}
	record, err := t.note(nil)
	if err != nil {
		return err
	}
	if err := t.idle(t.unproved(record.Term)); err != nil {
		return err
	}
	err = t.mark(false)
	t.marked = err == nil
	return err
}

// unproved returns how long the lease of the previous holder may still last, and logs why
// we wait. It returns 0 if that holder has released the lock.
func (t *term) unproved(last *ledger.Term) (wait time.Duration) {
	switch {
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

// mark notes whether our term has ended well.
func (t *term) mark(clean bool) error {
	_, err := t.note(func(record *ledger.Record) error {
		record.Term = &ledger.Term{Token: t.grant.Token, TTL: int64(t.grant.TTL), Clean: clean}
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
