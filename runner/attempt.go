package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/heartbeat"
)

// An OuterError says that the lock is held by a leaderrun that will hold it for as long
// as we run, because we are part of its job: Host.IsOuter says so. Waiting for the lock
// would be waiting for ourselves. Nothing of the campaign is left.
type OuterError struct {
	Status  locks.Status
	Secrets []string // the variables with the backend's secrets; see [locks.SecretEnv]
}

func (e *OuterError) Error() string {
	return (&locks.HeldError{Status: e.Status}).Error() + ", around us"
}
func (e *OuterError) Unwrap() error { return locks.ErrHeld }

// An attempt asks for the lock once, with its own handle, and may wait in its queue.
type attempt struct {
	campaign    *campaign
	steppedBack bool          // the lock was granted, and left to another waiter
	secrets     []string      // variables, once the lock has refused
	finished    chan struct{} // closed when term is set
	term        *term         // nil: the lock was not granted, or was released again

	mu     sync.Mutex
	seen   *locks.Status // the last status of the lock that was reported; nil: none was
	around bool          // its holder is a leaderrun around us
}

// run returns the term if the lock was granted.
func (a *attempt) run(ctx context.Context) (*term, error) {
	var lock locks.Lock // set before Acquire, and only Acquire calls waiting
	lock, err := a.campaign.r.host.Open(ctx, func(w locks.Waiting) { a.waiting(lock, w) })
	if err != nil {
		if ctx.Err() == nil {
			err = &openError{err}
		}
		return nil, err
	}
	t, err := a.acquire(ctx, lock)
	if err != nil {
		a.secrets = locks.SecretEnv(lock)
		_ = lock.Close() // the attempt's own error is the one that matters
	}
	return t, err
}

// waiting is called at each change while others hold the lock.
func (a *attempt) waiting(lock locks.Lock, w locks.Waiting) {
	cp := a.campaign
	around := cp.r.host.IsOuter(w.Status)
	newHolder := a.see(w.Status, around)
	if around {
		cp.limit.cancel() // the holder waits for us
		return
	}
	if newHolder {
		cp.report.log.Info("waiting", "holder", locks.Printable(w.Status.Holder))
		cp.report.emit(event.Event{Kind: event.Waiting, Holder: locks.Printable(w.Status.Holder), Class: event.ClassHeld, Reason: (&locks.HeldError{Status: w.Status}).Error()})
	}
	if cp.confirm && w.Status.Confirm == 0 {
		cp.limit.cancel() // somebody holds the lock after all
		return
	}
	if !cp.r.Try {
		cp.runStandby(lock, w)
	}
	cp.r.observer.Waiting(w)
	cp.limit.answered()
}

func (a *attempt) acquire(ctx context.Context, lock locks.Lock) (*term, error) {
	r := a.campaign.r
	if err := r.require(ctx, lock); err != nil {
		return nil, err
	}
	kept, err := keepalive.Acquire(ctx, lock, r.Try && !a.campaign.confirm, keepalive.Options{
		Interval: r.Timing.Renew,
		Attempt:  r.Timing.Attempt,
		Clock:    r.Clock,
		Logger:   r.Logger,
		Renewed:  a.renewed,
	})
	if err != nil {
		a.finish(nil)
		return nil, err
	}
	if err := r.outranked(ctx, lock); err != nil {
		a.steppedBack = true
		a.finish(nil)
		r.stepBack(ctx, kept)
		return nil, err
	}
	return newTerm(a.campaign, lock, kept), nil
}

// won begins the term, unless a signal arrived at the last moment of the campaign. Later
// signals are the job's.
func (a *attempt) won(t *term, signalled error) (*term, error) {
	t.acquired()
	a.finish(t)
	if signalled != nil {
		if t.noteFormer() == nil && t.marked {
			t.markClean()
		}
		if !t.keeps {
			t.r.observer.Heartbeat(heartbeat.Over)
			t.release(true)
		}
		_ = t.lock.Close() // it was released
		return nil, signalled
	}
	return t, nil
}

func (a *attempt) finish(t *term) {
	a.term = t
	close(a.finished)
}

// renewed passes the result of a renewal to the term. The first renewal may end before the
// attempt: then the goroutine that renews waits here.
func (a *attempt) renewed(n keepalive.Renewal) {
	<-a.finished
	if a.term != nil {
		a.term.lease.onRenewal(n, a.campaign.r.observer.Renewed)
	}
}

// verdict returns what the error of an attempt means, and notes it for the end of the campaign.
// A place in the queue that was lost is neither an ErrLost nor an outage.
func (a *attempt) verdict(err error) error {
	a.mu.Lock()
	seen, around := a.seen, a.around
	a.mu.Unlock()
	held, refused := errors.AsType[*locks.HeldError](err)
	if refused && a.campaign.r.host.IsOuter(held.Status) {
		seen, around = &held.Status, true
	}
	lost := errors.Is(err, locks.ErrLost)
	switch {
	case around:
		return &OuterError{Status: *seen, Secrets: a.secrets}
	case classify(err).final:
		return err
	case refused:
		a.campaign.answers.Held(held.Status)
		return err
	case lost:
		err = fmt.Errorf("%w: %v", locks.ErrUnavailable, err)
	case !errors.Is(err, locks.ErrUnavailable):
		err = fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
	}
	a.campaign.answers.Failed(err, onlyTime(err))
	if lost && seen != nil {
		return &locks.HeldError{Status: *seen}
	}
	return err
}

// onlyTime reports whether an error says nothing except that the time was up.
func onlyTime(err error) bool {
	if e, ok := errors.AsType[*locks.Error](err); ok {
		return e.Err == context.DeadlineExceeded || e.Err == context.Canceled //nolint:errorlint // a wrapped one says more
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// see notes the status of the lock, and reports whether its holder is a new one. After a
// leaderrun around us, it notes no other holder.
func (a *attempt) see(status locks.Status, around bool) (newHolder bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.around {
		return false
	}
	a.campaign.answers.Held(status)
	newHolder = a.seen == nil || a.seen.Holder != status.Holder
	a.seen, a.around = &status, around
	return newHolder
}

// answered reports whether the lock was known to be held.
func (a *attempt) answered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen != nil
}

// require returns an error if the backend lacks an ability that an option needs.
func (r *run) require(ctx context.Context, lock locks.Lock) error {
	for _, n := range []struct {
		needed  bool
		option  string
		ability locks.Ability
	}{
		{r.Once != nil, "--once-per", locks.CanRecord},
		{r.Strict && !locks.IsPermanent(lock), "--takeover strict", locks.CanRecord},
		{r.Priority != nil, "--priority", locks.CanQueue},
	} {
		if n.needed {
			if err := locks.Require(ctx, lock, n.option, n.ability); err != nil {
				return err
			}
		}
	}
	return nil
}
