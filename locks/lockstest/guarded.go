package lockstest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// A guarded lock fails the test, rather than ending or blocking the whole suite, if a
// method panics or does not return within grace after its context has ended.
type guarded struct {
	locks.Lock
	e *env
	h *handle // as the test's witness sees it
}

var (
	errHung     = errors.New("the method has not returned")
	errPanicked = errors.New("the method panicked")
)

func (g *guarded) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	done := g.h.acquires()
	grant, err := guard(ctx, g, "Acquire", func() (locks.Grant, error) { return g.Lock.Acquire(ctx, try) })
	done(grant, err)
	return grant, err
}

func (g *guarded) Renew(ctx context.Context) error {
	return g.writes(renewal, func() error { return g.call(ctx, "Renew", func() error { return g.Lock.Renew(ctx) }) })
}

func (g *guarded) Release(ctx context.Context) error {
	g.h.gives()
	return g.call(ctx, "Release", func() error { return g.Lock.Release(ctx) })
}

func (g *guarded) Close() error {
	if g.e.c.TTL == 0 { // there is no lease that would go on
		g.h.gives()
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return g.call(ended, "Close", g.Lock.Close)
}

// writes makes a request by which only the holder may change anything.
func (g *guarded) writes(what string, f func() error) error {
	done := g.h.writes(what)
	err := f()
	done(err)
	return err
}

// guard runs a method that returns a value. It drops that value if there is an error,
// because the method may not have returned.
func guard[T any](ctx context.Context, g *guarded, method string, f func() (T, error)) (none T, err error) {
	var got T
	err = g.call(ctx, method, func() (err error) { got, err = f(); return err })
	if err != nil {
		return none, err
	}
	return got, nil
}

// call runs one method.
func (g *guarded) call(ctx context.Context, method string, f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("%w: %v\n%s", errPanicked, p, debug.Stack())
			}
		}()
		done <- f()
	}()
	err := errHung
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done:
		case <-time.After(g.e.grace):
		}
	}
	switch {
	case errors.Is(err, errPanicked):
		trial.Final(g.e.TB, "%s: %v", method, err)
	case errors.Is(err, errHung):
		g.e.Errorf("%s: %v", method, err)
	}
	return err
}
