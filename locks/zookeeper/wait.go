package zookeeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backoff"
	"github.com/leaderrun/leaderrun/locks/clock"
	"github.com/leaderrun/leaderrun/locks/record"
)

// enter begins the session and joins the contenders, within the connect
// timeout. An address where nobody is reachable is reported at once.
func (e *entry) enter(ctx context.Context, try bool) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, e.o.ConnectTimeout)
	defer cancel()
	ctx, stop := e.untilOver(ctx)
	defer stop()
	defer e.s.want(ctx)()
	sent := clock.Boot{}.Now()
	if err := e.s.await(ctx, 0, true); err != nil {
		return nil, err
	}
	e.begin(sent)
	if err := e.s.login(ctx, e.settings.users.now()); err != nil {
		return nil, err
	}
	v, err := e.join(ctx, try)
	if err != nil && ctx.Err() != nil {
		err = e.s.because(err)
	}
	return v, err
}

// join is joinFair or joinUnfair.
func (e *entry) join(ctx context.Context, try bool) (*view, error) {
	if e.settings.unfair {
		return e.joinUnfair(ctx, try)
	}
	return e.joinFair(ctx, try)
}

// wait waits until our node leads. In fair mode only the node just before it is
// watched, so that a release wakes one waiter and not all.
func (e *entry) wait(ctx context.Context, v *view) (*view, error) {
	guarded := false
	ctx, cancel := e.untilOver(ctx)
	defer cancel()
	for {
		e.entered(v.own)
		if v.own != nil && !guarded {
			e.guard(v.own, 0)
			guarded = true
		}
		if v.leads {
			return v, nil
		}
		e.tell(v)
		next, err := e.change(ctx, v)
		if err != nil {
			return nil, err
		}
		v = next
	}
}

// change waits until what is before us has changed, and returns what there is
// then.
func (e *entry) change(ctx context.Context, v *view) (*view, error) {
	if err := e.gone(ctx, v); err != nil {
		return nil, err
	}
	if v.own == nil {
		return e.join(ctx, false)
	}
	next, err := e.lookFair(ctx)
	if err == nil && next.own == nil {
		e.lose(errDeleted)
		return nil, errDeleted
	}
	return next, err
}

// gone waits until what is watched has been deleted. If that is a queue, a
// change of it will do.
func (e *entry) gone(ctx context.Context, v *view) error {
	for {
		w, err := e.s.watchGone(ctx, v.watch)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case err != nil:
			return err
		}
		select {
		case ev := <-w.events:
			if ev.Type == zk.EventNodeDeleted || v.queue {
				return nil
			} // else it is only that the connection broke
		case <-ctx.Done(): // our patience ended while all was well
			return &locks.HeldError{Status: v.status()}
		}
	}
}

// tell says what we wait for.
func (e *entry) tell(v *view) {
	if e.o.Waiting != nil {
		ttl, _ := e.term()
		e.o.Waiting(locks.Waiting{Status: v.status(), Lease: ttl, Position: v.position})
	}
}

// lazily is how long what a short job does not need is put off.
const lazily = 100 * time.Millisecond

// guard watches our own node, beginning after a delay, until the term is over:
// an operator may delete it.
func (e *entry) guard(own *node, delay time.Duration) {
	e.spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, delay) != nil {
			return
		}
		for pause := new(backoff.Backoff); ; {
			if gone := e.watchOwn(ctx, own); gone != nil {
				e.lose(gone)
				return
			}
			if pause.Wait(ctx) != nil {
				return
			}
		}
	})
}

// watchOwn waits for an event, and returns how our node was lost, if it was.
func (e *entry) watchOwn(ctx context.Context, own *node) error {
	w, err := e.s.watchGone(ctx, own.path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return errDeleted
	case err != nil:
		e.log.Debug("cannot watch the lock's node", "err", err)
		return nil
	case w.token != own.token():
		return errReplaced
	}
	select {
	case ev := <-w.events:
		if ev.Type == zk.EventNodeDeleted {
			return errDeleted
		}
	case <-ctx.Done():
	}
	return nil
}

// restampLazily renews our record once we lead after a wait, so that it tells
// since when. It wakes nobody.
func (e *entry) restampLazily(path string) {
	e.spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, lazily) != nil {
			return
		}
		_, err := ask(ctx, e.s, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(path, record.New(e.o), -1) })
		if err != nil {
			e.log.Debug("cannot renew the lock's record", "err", err)
		}
	})
}
