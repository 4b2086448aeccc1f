package slots

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
)

// add has a handle renewed from now on. It fails if we are closed already, and
// then closes the handle.
func (l *Lock) add(h locks.Lock) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = h.Close() // it holds nothing yet
		return errClosed
	}
	l.parts[h] = true
	return nil
}

// drop has handles renewed no more: they are about to be given up.
func (l *Lock) drop(handles ...locks.Lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range handles {
		delete(l.parts, h)
	}
}

// renewed are the handles that make up what we have: the slot, or, as long as we
// wait, the turnstile and our places in the queues of slots.
func (l *Lock) renewed() ([]locks.Lock, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	if l.slot != nil {
		return []locks.Lock{l.slot}, nil
	}
	var all []locks.Lock
	for h := range l.parts {
		all = append(all, h)
	}
	return all, nil
}

// Renew renews the slot, or all that we wait with. It succeeds only if each part
// of that has: then whatever we are granted runs from a moment after Renew was
// called. A slot that is just being asked for has no lease to renew yet, or has
// one without knowing, from before: so its ErrNoLease is that of the whole.
func (l *Lock) Renew(ctx context.Context) error {
	parts, err := l.renewed()
	if err != nil {
		return err
	}
	errs := make([]error, len(parts))
	var all sync.WaitGroup
	for i, h := range parts {
		all.Go(func() { errs[i] = h.Renew(ctx) })
	}
	all.Wait()
	return l.sum(parts, errs)
}

// sum makes one result of many. What was given up meanwhile does not count.
func (l *Lock) sum(parts []locks.Lock, errs []error) error {
	now, err := l.renewed()
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
