package operate

import (
	"context"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// A farewell is the word that a holder leaves in the lock's record when nothing of its job is left,
// before it releases the lock, if it runs with --takeover strict. If the lock is gone without it,
// somebody has taken it away or deleted it, and the job may run until its lease ends.
type farewell struct {
	token uint64
	term  *ledger.Term // nil: as far as is known, the holder leaves no word
	gone  time.Time    // when it was first seen that it no longer holds the lock; zero: it does
	lost  bool         // it left no word
}

// farewell returns what the holder will say, according to the record.
func (r *resignation) farewell(ctx context.Context, before locks.Status) (farewell, error) {
	f := farewell{token: before.Token}
	_, err := f.read(ctx, r)
	return f, err
}

// read reads what the record says of the last term; nil is nothing.
func (f *farewell) read(ctx context.Context, r *resignation) (*ledger.Term, error) {
	record, err := r.record(ctx)
	if record == nil || record.Term == nil {
		return nil, err
	}
	if record.Term.Token == f.token {
		f.term = record.Term
	}
	return record.Term, nil
}

// over reports whether nothing of the job is left, when its holder no longer holds the lock.
func (f *farewell) over(ctx context.Context, r *resignation) (bool, error) {
	if f.gone.IsZero() {
		f.gone = time.Now()
	}
	now, err := f.read(ctx, r)
	if f.term == nil || err != nil {
		return err == nil, err
	}
	if now == nil || now.Token == f.token && !now.Clean {
		f.lost = true
		return f.left() == 0, nil
	}
	return true, nil // a next holder that is strict has waited before it wrote its own term
}

// left returns for how long the job of a holder that has lost its lock may run.
func (f *farewell) left() time.Duration {
	if !f.lost {
		return 0
	}
	return max(time.Until(f.gone.Add(time.Duration(f.term.TTL))), 0)
}

// String says how the term has ended.
func (f *farewell) String() string {
	if f.lost {
		return "lost the lock"
	}
	return "resigned"
}
