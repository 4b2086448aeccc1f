package doctor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// A handle is one contender for the scratch lock.
type handle struct {
	locks.Lock
	e       *exam
	ttl     time.Duration
	waits   sync.Once
	waiting chan struct{} // closed when it has found the lock held
	lease   *keepalive.Lease
	freed   bool

	stop func()        // ends the wait for the lock, and returns when it has ended; nil: it does not wait
	idle chan struct{} // closed when the wait has ended
}

// open opens a handle on the scratch lock. It must be closed.
func (e *exam) open(ctx context.Context, ttl time.Duration) (*handle, error) {
	return e.openLock(ctx, e.scratch, ttl)
}

// openLock opens a handle on any lock.
func (e *exam) openLock(ctx context.Context, name string, ttl time.Duration) (*handle, error) {
	h := &handle{e: e, ttl: ttl, waiting: make(chan struct{}), idle: make(chan struct{})}
	ctx, cancel := e.request(ctx)
	defer cancel()
	var err error
	h.Lock, err = e.Open(ctx, e.backend, locks.Options{
		Name:           name,
		Holder:         e.Holder,
		TTL:            ttl,
		ConnectTimeout: e.ConnectTimeout,
		Version:        e.Version,
		Logger:         e.Logger,
		Waiting:        func(locks.Waiting) { h.found() },
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// found reports that the lock was found held.
func (h *handle) found() { h.waits.Do(func() { close(h.waiting) }) }

// require returns an ErrUsage if the backend lacks an ability.
func (h *handle) require(ctx context.Context, needed locks.Ability) error {
	ctx, cancel := h.e.bounded(ctx)
	defer cancel()
	return locks.Require(ctx, h.Lock, "skipped", needed)
}

// abilities returns the abilities of the backend, or none if it does not report them.
func (h *handle) abilities(ctx context.Context) ([]locks.Ability, error) {
	able, ok := h.Lock.(locks.Able)
	if !ok {
		return nil, nil
	}
	ctx, cancel := h.e.bounded(ctx)
	defer cancel()
	return able.Abilities(ctx)
}

// can reports whether the backend has an ability.
func (h *handle) can(ctx context.Context, a locks.Ability) bool {
	has, err := h.abilities(ctx)
	return err == nil && slices.Contains(has, a)
}

// take acquires a lock that should be free.
func (h *handle) take(ctx context.Context) (locks.Grant, error) {
	h.e.pace(ctx)
	ctx, cancel := h.e.request(ctx)
	defer cancel()
	grant, err := h.Acquire(ctx, true)
	h.e.touched = h.e.touched || err == nil || inDoubt(err)
	return grant, err
}

// inDoubt reports whether an acquire that failed may have been granted, because there was no
// answer.
func inDoubt(err error) bool {
	return errors.Is(err, locks.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// renew renews once, as soon as the lock may be written to again.
func (h *handle) renew(ctx context.Context) error {
	h.e.pace(ctx)
	return h.renewNow(ctx)
}

// renewNow renews once. A lock without a lease is not an error.
func (h *handle) renewNow(ctx context.Context) error {
	ctx, cancel := h.e.request(ctx)
	defer cancel()
	if err := h.Renew(ctx); !errors.Is(err, locks.ErrNoLease) {
		return err
	}
	return nil
}

// free stops the renewals and releases the lock, as soon as it may be written to again.
func (h *handle) free(ctx context.Context) error {
	h.e.pace(ctx)
	return h.freeNow(ctx)
}

// freeNow is free without that pause.
func (h *handle) freeNow(ctx context.Context) error {
	ctx, cancel := h.e.request(ctx)
	defer cancel()
	release := h.Release
	if h.lease != nil {
		release = h.lease.Release
	}
	err := release(ctx)
	h.freed = err == nil
	return err
}

// queuePause is the pause before another attempt if the backend cannot wait.
const queuePause = 250 * time.Millisecond

// lead waits for the lock, and then renews it.
func (h *handle) lead(ctx context.Context) error {
	t := h.e.timing(h.ttl)
	for {
		lease, err := keepalive.Acquire(ctx, h.Lock, false, keepalive.Options{
			Interval: t.Renew, Attempt: t.Attempt, Clock: h.e.Clock, Logger: h.e.Logger,
		})
		if !errors.Is(err, locks.ErrHeld) {
			h.lease = lease
			return err
		}
		h.found()
		if err := pause(ctx, queuePause); err != nil {
			return err
		}
	}
}

// leadNow is lead for a lock that should be free.
func (h *handle) leadNow(ctx context.Context) error {
	h.e.pace(ctx)
	ctx, cancel := h.e.request(ctx) // the lease outlives it
	defer cancel()
	return h.lead(ctx)
}

// end releases the lock if the handle holds it, and closes the handle.
func (h *handle) end(ctx context.Context) {
	if h.stop != nil {
		h.stop()
	}
	if !h.freed {
		_ = h.free(context.WithoutCancel(ctx)) // if it fails, the lock ends with its lease
	}
	h.close()
}

// abandon closes the handle without a release, as if its process had been killed.
func (h *handle) abandon() {
	h.freed = true
	h.close()
}

func (h *handle) close() { _ = h.Close() } // it only frees resources of this process

// pace waits until the lock may be written to again.
func (e *exam) pace(ctx context.Context) {
	now := e.Clock.Now()
	if next := e.wrote.Add(e.Spacing); e.wrote != 0 && now < next {
		_ = pause(ctx, next.Sub(now)) // the write that follows notices the end of ctx
		e.paused += e.Clock.Now().Sub(now)
	}
	e.wrote = e.Clock.Now()
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
