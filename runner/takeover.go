package runner

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// takeOver waits, if Strict, until the lease of a holder before us is over, unless it
// is known to have released the lock: the server may have ended that lease early,
// while its holder trusts it. If nothing is known of one, there may have been one all
// the same: who deletes a lock may have deleted what is known. Holders that are not
// Strict leave nothing to know them by.
func (r *run) takeOver() error {
	if !r.Strict || r.grant.TTL == 0 {
		return nil
	}
	record, err := r.note(nil)
	if err != nil {
		return err
	}
	if err := r.idle(r.unproved(record.Term)); err != nil {
		return err
	}
	if err := r.mark(false); err != nil {
		return err
	}
	r.marked = true
	return nil
}

// unproved is how long the lease of a holder before us may last, and tells why we wait
// for it; 0: it has released the lock.
func (r *run) unproved(t *ledger.Term) (wait time.Duration) {
	switch {
	case r.grant.Clean || t != nil && t.Clean:
		return 0
	case t == nil:
		wait = r.grant.TTL
		r.Logger.Info("nothing is known of a holder before; waiting as long as its lease might last", "wait", wait)
	default:
		wait = min(time.Duration(t.TTL), MaxTTL)
		r.Logger.Info("the holder before did not release the lock; waiting for the end of its lease", "wait", wait)
	}
	return wait
}

// mark notes how our term stands: whether it has ended well.
func (r *run) mark(clean bool) error {
	_, err := r.note(func(record *ledger.Record) error {
		record.Term = &ledger.Term{Token: r.grant.Token, TTL: int64(r.grant.TTL), Clean: clean}
		return nil
	})
	return err
}

// markClean is for a term that is about to end well.
func (r *run) markClean() {
	if !r.marked {
		return
	}
	if err := r.mark(true); err != nil {
		r.Logger.Warn("the next holder will wait for the end of our lease", "err", err)
	}
}
