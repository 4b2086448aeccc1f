package runner

import (
	"errors"

	"github.com/leaderrun/leaderrun/locks"
)

// An OuterError says that the lock is held by a leaderrun of which Config.Outer
// knows that it will hold the lock for as long as we run: we are part of its
// job. To wait for it would be to wait for ourselves. Nothing of the campaign
// is left.
type OuterError struct{ Status locks.Status }

func (e *OuterError) Error() string {
	return (&locks.HeldError{Status: e.Status}).Error() + ", around us"
}
func (e *OuterError) Unwrap() error { return locks.ErrHeld }

// outer returns an *OuterError if it is a leaderrun around us that was found to
// hold the lock in an attempt that failed with err, or nil.
func (r *run) outer(q *queue, err error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var held *locks.HeldError
	switch {
	case q.outer != nil:
		return &OuterError{*q.outer}
	case r.Outer != nil && errors.As(err, &held) && r.Outer(held.Status):
		return &OuterError{held.Status}
	}
	return nil
}

// end ends the campaign: it would wait for what waits for us.
func (q *queue) end(outer locks.Status) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outer = &outer
	q.limit.cancel()
}
