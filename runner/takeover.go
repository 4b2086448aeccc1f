package runner

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/ledger"
)

// takeOver waits, if Strict, until the lease of a holder before us is over that
// did not release the lock: the server may have ended it early, while that
// holder trusts it. Holders that are not Strict leave nothing to know them by.
func (r *run) takeOver() error {
	if !r.Strict || r.grant.TTL == 0 {
		return nil
	}
	record, err := r.note(nil)
	if err != nil {
		return err
	}
	if t := record.Term; t != nil && !t.Clean && !r.grant.Clean {
		wait := min(time.Duration(t.TTL), MaxTTL)
		r.Logger.Info("the holder before did not release the lock; waiting for the end of its lease", "wait", wait)
		if err := r.idle(wait); err != nil {
			return err
		}
	}
	if err := r.mark(false); err != nil {
		return err
	}
	r.marked = true
	return nil
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
