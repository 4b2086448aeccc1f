package lockstest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// A contender is a handle on a lock, with what its owner knows.
type contender struct {
	locks.Lock
	bare   locks.Lock // as returned by Open
	guard  *guarded   // Lock, with its other methods
	e      *env
	o      locks.Options
	grant  locks.Grant
	asked  chan locks.Waiting // what Waiting received; the latest are kept
	seldom bool               // keep renews five times in the lease that was granted

	// Lock requires one renewal at a time, and keep renews as well. This is not a mutex
	// because that would stop the time of a simulated test.
	renewing chan struct{}

	mu   sync.Mutex
	sent clock.Instant // before the last acknowledged request was sent
}

// open makes a contender for the usual lock.
func (e *env) open(holder string) *contender {
	e.Helper()
	return e.openWith(e.u, e.options(holder))
}

// openWith makes a contender; its handle is closed at the end of the test.
func (e *env) openWith(u *url.URL, o locks.Options) *contender {
	e.Helper()
	k, err := e.tryOpen(u, o)
	if err != nil {
		e.Fatalf("open: %v", err)
	}
	e.Cleanup(func() { _ = k.Close() })
	return k
}

// tryOpen makes a contender; it may be called from any goroutine.
func (e *env) tryOpen(u *url.URL, o locks.Options) (*contender, error) {
	if e.c.MaxTTL > 0 {
		o.TTL = min(o.TTL, e.c.MaxTTL)
	}
	k := &contender{e: e, o: o, asked: make(chan locks.Waiting, 64), renewing: make(chan struct{}, 1)}
	next := o.Waiting
	o.Waiting = func(w locks.Waiting) {
		if next != nil {
			next(w)
		}
		select {
		case k.asked <- w:
		default:
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.patience)
	defer cancel()
	l, err := e.c.Open(ctx, u, o)
	if err != nil {
		return nil, err
	}
	k.guard = &guarded{l, e, e.witness.handle(u, o, e.slots)}
	k.Lock, k.bare = k.guard, l
	return k, nil
}

// try makes one attempt to get the lock at once.
func (k *contender) try() (locks.Grant, error) {
	ctx, cancel := context.WithTimeout(context.Background(), k.e.patience)
	defer cancel()
	return k.acquire(ctx, true)
}

// acquire calls Acquire and notes what it grants. It calls a backend without a queue
// again, because its waiters have no place that could survive an outage.
func (k *contender) acquire(ctx context.Context, try bool) (locks.Grant, error) {
	for {
		sent := k.e.now()
		g, err := k.Acquire(ctx, try)
		if err == nil {
			k.mu.Lock()
			k.grant, k.sent = g, max(k.sent, sent)
			k.mu.Unlock()
		}
		again := errors.Is(err, locks.ErrHeld) || errors.Is(err, locks.ErrUnavailable)
		if try || k.e.c.Polling == 0 || !again {
			return g, err
		}
		select {
		case <-ctx.Done():
			return g, fmt.Errorf("%w (%w)", ctx.Err(), err)
		case <-time.After(k.e.c.Polling):
		}
	}
}

// hold gets the lock at once, or fails the test.
func (k *contender) hold() locks.Grant {
	k.e.Helper()
	g, err := k.try()
	if err != nil {
		k.e.Fatalf("%s: acquire: %v", k.o.Holder, err)
	}
	return g
}

// refused checks that another holder has the lock, and returns what is known.
func (k *contender) refused() locks.Status {
	k.e.Helper()
	g, err := k.try()
	held, ok := errors.AsType[*locks.HeldError](err)
	if !ok || !errors.Is(err, locks.ErrHeld) {
		k.e.Fatalf("%s: try on a held lock: got %+v, %v; want a *HeldError", k.o.Holder, g, err)
	}
	return held.Status
}

// renew makes one attempt to renew.
func (k *contender) renew() error {
	k.renewing <- struct{}{}
	defer func() { <-k.renewing }()
	sent := k.e.now()
	ctx, cancel := context.WithTimeout(context.Background(), k.e.prompt)
	defer cancel()
	err := k.Renew(ctx)
	if err == nil {
		k.mu.Lock()
		k.sent = max(k.sent, sent)
		k.mu.Unlock()
	}
	return err
}

// release gives the lock up, or fails the test.
func (k *contender) release() {
	k.e.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), k.e.prompt)
	defer cancel()
	if err := k.Release(ctx); err != nil {
		k.e.Errorf("%s: release: %v", k.o.Holder, err)
	}
}

// deadline returns the moment until which the lock is certainly ours: see package
// keepalive.
func (k *contender) deadline() clock.Instant {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sent.Add(keepalive.Trusted(k.grant.TTL))
}

// interval is the time between renewals in this suite.
func (e *env) interval() time.Duration { return e.c.TTL / 5 }

// keep renews in the background, until stop is called or the lease is lost. Stop returns
// the error that ended it, if any. If leases need no renewal, keep does nothing.
func (k *contender) keep() (stop func() error) {
	if k.e.c.TTL == 0 {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var lost error
	wg.Go(func() { lost = k.renewUntil(ctx) })
	stop = sync.OnceValue(func() error { cancel(); wg.Wait(); return lost })
	k.e.Cleanup(func() { _ = stop() })
	return stop
}

// renewUntil renews at every interval until ctx ends or the lease is lost.
func (k *contender) renewUntil(ctx context.Context) error {
	pause := k.e.interval()
	if k.seldom {
		pause = max(pause, k.grant.TTL/5)
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := k.renew(); errors.Is(err, locks.ErrLost) {
			return err
		}
	}
}
