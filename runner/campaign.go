package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// The pause before the backend is asked again grows from the first to the last
// of these, and a random half of it is left out, so that a fleet does not ask
// in step.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
)

// campaign waits for the lock as long as it may.
func (r *run) campaign(ctx context.Context) error {
	ctx, stop := r.untilSignal(ctx)
	ctx, limit, cancel := r.limited(ctx)
	defer cancel()
	var last error // what the campaign ends with if it ends now
	told := outage{}
	for pauses := (backoff.Backoff{Shortest: firstPause, Longest: lastPause}); ; {
		q := &queue{limit: limit}
		lock, lease, err := r.attempt(ctx, q)
		if err == nil {
			r.lock, r.lease, r.grant, r.slot = lock, lease, lease.Grant(), locks.SlotOf(lock)
			return r.acquired(stop())
		}
		last = r.verdict(ctx, q, err, last)
		limit.learn()
		if !r.Try && again(last) && ctx.Err() == nil {
			r.retrying(told, last)
			pause := pauses.Take()
			if !q.stepped { // he for whom we did is before our new place
				_ = backoff.Sleep(ctx, pause)
			}
			if ctx.Err() == nil {
				continue
			}
		}
		if err := stop(); err != nil {
			return err
		}
		return last
	}
}

// verdict says what a campaign whose last attempt failed with err would end
// with. Contention and outage never look alike: the lock is held if that is
// the last thing we were told.
func (r *run) verdict(ctx context.Context, q *queue, err, before error) error {
	if outer := r.outer(q, err); outer != nil {
		return outer
	}
	ended, lost := ctx.Err() != nil, errors.Is(err, locks.ErrLost)
	switch held := q.held(); {
	case errors.Is(err, locks.ErrHeld), errors.Is(err, locks.ErrUnavailable), !again(err):
		return err
	case held != nil && (ended || lost):
		return held
	case ended && before != nil: // the attempt was cut short and learned nothing
		return before
	case ended:
		return fmt.Errorf("%w: %s gave no answer in time", locks.ErrUnavailable, r.Backend)
	case lost: // only a place in the queue, and not as a job loses its lock
		return fmt.Errorf("%w: %v", locks.ErrUnavailable, err)
	default:
		return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
	}
}

// again reports whether another attempt may end otherwise.
func again(err error) bool {
	var open *openError
	var outer *OuterError
	return !errors.Is(err, locks.ErrUsage) && !errors.Is(err, locks.ErrDenied) && (!errors.As(err, &open) || proc.Passing(err)) && !errors.As(err, &outer)
}

// An openError is one of Open, which contacts no server: a helper program is
// missing, a file cannot be read.
type openError struct{ error }

func (e *openError) Unwrap() error { return e.error }

// attempt campaigns once, with a handle of its own.
func (r *run) attempt(ctx context.Context, q *queue) (locks.Lock, *keepalive.Lease, error) {
	var lock locks.Lock
	var err error
	lock, err = r.Open(ctx, func(w locks.Waiting) {
		if r.Outer != nil && r.Outer(w.Status) {
			q.end(w.Status)
			return
		}
		if q.set(w) {
			r.Logger.Info("waiting", "leader", locks.Printable(w.Status.Holder))
			r.emit(Event{Kind: EventWaiting, Class: classHeld, Reason: (&locks.HeldError{Status: w.Status}).Error()})
		}
		r.standBy(lock, w)
		if r.Waiting != nil {
			r.Waiting(w)
		}
		q.limit.learn()
	})
	if err != nil && ctx.Err() == nil {
		err = &openError{err}
	}
	if err != nil {
		return nil, nil, err
	}
	err = r.require(ctx, lock)
	if err == nil && !locks.IsPermanent(lock) {
		err = r.Timing.Gate(r.Timing.TTL)
	}
	var lease *keepalive.Lease
	givenUp := make(chan struct{}) // closed if the lease never becomes ours
	if err == nil {
		lease, err = keepalive.Acquire(ctx, lock, r.Try, keepalive.Options{
			Interval: r.Timing.Renew,
			Attempt:  r.Timing.Attempt,
			Clock:    r.Clock,
			Logger:   r.Logger,
			Renewed:  func(n keepalive.Renewal) { r.renewed(n, givenUp) },
		})
	}
	if err == nil {
		err = r.outranked(ctx, lock)
		q.stepped = err != nil
	}
	if err != nil {
		close(givenUp)
		if lease != nil {
			r.stepBack(ctx, lease)
		}
		_ = lock.Close() // the attempt's own error is the one that matters
		return nil, nil, err
	}
	return lock, lease, nil
}

// acquired ends a campaign that was won, unless a signal came in its last
// moment. Later signals are the job's.
func (r *run) acquired(signalled error) error {
	if a, ok := r.lock.(locks.Asker); ok {
		r.asked = a.Asked()
	}
	log := r.Logger
	if r.slot > 0 {
		log = log.With("slot", r.slot)
	}
	log.Info("acquired", "token", r.grant.Token, "ttl", r.grant.TTL)
	r.tellAcquired()
	close(r.held)
	if signalled != nil {
		r.release(true)
		_ = r.lock.Close() // it was released
	}
	return signalled
}

// renewed is told of each attempt to renew a lease. The first may be over
// before the rest of us knows that there is a lease.
func (r *run) renewed(n keepalive.Renewal, givenUp <-chan struct{}) {
	select {
	case <-r.held:
	case <-givenUp:
		return
	}
	if r.Renewed != nil {
		r.Renewed(n)
	}
	if n.Err == nil {
		if job := r.job.Load(); job != nil {
			(*job).Extend(r.Timing.KillAt(n.Deadline))
		}
		return
	}
	left := n.Deadline.Sub(n.Done).Milliseconds()
	r.emit(Event{Kind: EventRenewFailed, Class: ClassOf(n.Err), Reason: n.Err.Error(), LeftMS: &left})
	if errors.Is(n.Err, locks.ErrLost) {
		return // the lease is done, and that says more
	}
	select {
	case r.failures <- n.Err:
	default: // the supervisor has yet to look at an earlier one
	}
}

// An outage is what was told of the one that goes on, if any.
type outage map[string]bool

// maxFaces bounds what is told of one outage: a reason may have a port in it, which is
// another one each time.
const maxFaces = 10

// retrying tells of an outage when it begins, and when it shows another face, not at each
// attempt.
func (r *run) retrying(o outage, err error) {
	if !errors.Is(err, locks.ErrUnavailable) {
		clear(o)
		return
	}
	if o[err.Error()] || len(o) == maxFaces {
		return
	}
	o[err.Error()] = true
	r.emit(Event{Kind: EventUnavailable, Class: ClassOf(err), Reason: err.Error()})
	r.Logger.Warn("no answer, still trying", "err", err)
}

// untilSignal ends a context when a signal arrives that ends us. Others are
// dropped: there is no job to pass them to. The function that it returns stops
// that, and says by a *SignalError whether there was such a signal; it must be
// called.
func (r *run) untilSignal(ctx context.Context) (context.Context, func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var signalled error
	var done sync.WaitGroup
	done.Go(func() {
		pulse := r.pulse(StageWaiting)
		defer pulse.stop()
		for {
			select {
			case sig := <-r.Signals:
				if ending(sig) {
					signalled = &SignalError{sig}
					cancel()
					return
				}
			case <-pulse.C:
				pulse.beat()
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() error {
		cancel()
		done.Wait()
		return signalled
	}
}

// queue is what one attempt has learned of those it waits for.
type queue struct {
	limit   *limit
	stepped bool // the lock was granted, and left to somebody else

	mu    sync.Mutex
	seen  *locks.Status
	outer *locks.Status
}

// set takes news, and reports whether they tell of another holder.
func (q *queue) set(w locks.Waiting) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	other := q.seen == nil || q.seen.Holder != w.Status.Holder
	q.seen = &w.Status
	return other
}

// held returns the error that says who held the lock when it was last looked
// at, or nil if it was not seen held.
func (q *queue) held() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.seen == nil {
		return nil
	}
	return &locks.HeldError{Status: *q.seen}
}
