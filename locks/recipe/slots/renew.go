package slots

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// add makes Renew also renew a handle. If the Lock is closed already, add fails and closes
// the handle.
func (l *Lock) add(h locks.Lock) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = h.Close() // it holds nothing yet
		return errClosed
	}
	l.renewable[h] = true
	return nil
}

// drop makes Renew no longer renew handles, which are about to be released.
func (l *Lock) drop(handles ...locks.Lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range handles {
		delete(l.renewable, h)
	}
}

// toRenew returns the handles that make up what we have: the slot, or while we wait, the
// turnstile and our places in the queues of slots.
func (l *Lock) toRenew() ([]locks.Lock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	if l.slot != nil {
		return []locks.Lock{l.slot}, nil
	}
	var all []locks.Lock
	for h := range l.renewable {
		all = append(all, h)
	}
	return all, nil
}

// Renew implements [locks.Lock]. It renews the slot, or everything that we wait with. It
// succeeds only if each part was renewed: then whatever is granted to us runs from a moment
// after Renew was called. While one slot is still being acquired, its lease is unknown to us,
// and may have begun before: so ErrNoLease from one part is the result.
func (l *Lock) Renew(ctx context.Context) error {
	parts, err := l.toRenew()
	if err != nil {
		return err
	}
	errs := make([]error, len(parts))
	var all sync.WaitGroup
	for i, h := range parts {
		all.Go(func() { errs[i] = h.Renew(ctx) })
	}
	all.Wait()
	return l.combine(parts, errs)
}

// combine returns one result for all parts, without those that were dropped meanwhile.
func (l *Lock) combine(parts []locks.Lock, errs []error) error {
	now, err := l.toRenew()
	if err != nil {
		return err
	}
	var failed, missing error
	renewed := false
	for i, err := range errs {
		switch {
		case !slices.Contains(now, parts[i]):
		case errors.Is(err, locks.ErrLost):
			return err
		case errors.Is(err, locks.ErrNoLease):
			missing = err
		case err != nil:
			failed = err
		default:
			renewed = true
		}
	}
	switch {
	case failed != nil:
		return failed
	case missing != nil || !renewed:
		return locks.ErrNoLease
	}
	return nil
}
