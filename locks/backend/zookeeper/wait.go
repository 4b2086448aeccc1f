package zookeeper

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// Enter implements [queue.Entry]: it begins the session and joins the contenders. If no
// address is reachable, it returns at once.
func (e *entry) Enter(ctx context.Context, try bool) (queue.View, error) {
	ctx, cancel := context.WithTimeout(ctx, e.lock.o.ConnectTimeout)
	defer cancel()
	ctx, stop := e.campaign.UntilOver(ctx)
	defer stop()
	defer e.s.want(ctx)()
	sent := clock.Boot{}.Now()
	if err := e.s.await(ctx, 0, true); err != nil {
		return queue.View{}, err
	}
	e.begin(sent)
	if err := e.s.login(ctx, e.lock.settings.users.now()); err != nil {
		return queue.View{}, err
	}
	v, err := e.join(ctx, try)
	if err != nil && ctx.Err() != nil {
		err = e.s.because(err)
	}
	if err != nil {
		return queue.View{}, err
	}
	if v.leads || !try {
		e.entered(v.own)
	}
	return e.seen(v), nil
}

// join calls joinFair or joinUnfair.
func (e *entry) join(ctx context.Context, try bool) (*view, error) {
	if e.lock.settings.unfair {
		return e.joinUnfair(ctx, try)
	}
	return e.joinFair(ctx, try)
}

// Await implements [queue.Entry]: it waits until the watched node is deleted. In fair
// mode this is the node just before ours, so that a release wakes only one waiter. If it
// is a queue, any change ends the wait.
func (e *entry) Await(ctx context.Context) error {
	for {
		w, err := e.s.watchGone(ctx, e.view.watch)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case err != nil:
			return err
		}
		select {
		case ev := <-w.events:
			if ev.Type == zk.EventNodeDeleted || e.view.queue {
				return nil
			} // otherwise only the connection broke
		case <-ctx.Done():
			return nil
		}
	}
}

// Look implements [queue.Entry].
func (e *entry) Look(ctx context.Context) (queue.View, error) {
	look, waits := e.lookFair, true
	switch {
	case e.view == nil:
		look = e.lookAgain
	case e.view.own == nil:
		look, waits = func(ctx context.Context) (*view, error) { return e.join(ctx, false) }, false
	}
	v, err := look(ctx)
	if err == nil && v.own == nil && waits {
		err = errDeleted
	}
	if err != nil {
		return queue.View{}, err
	}
	e.entered(v.own)
	return e.seen(v), nil
}

// lookAgain looks at the queue in the session of another process.
func (e *entry) lookAgain(ctx context.Context) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, e.lock.o.ConnectTimeout)
	defer cancel()
	defer e.s.want(ctx)()
	if err := e.s.login(ctx, slices.Concat(e.s.owners, e.lock.settings.users.now())); err != nil {
		return nil, err
	}
	return e.lookFair(ctx)
}

// WatchEntry implements [queue.Entry].
func (e *entry) WatchEntry(ctx context.Context, _ *backoff.Backoff) error {
	own := e.ours()
	w, err := e.s.watchGone(ctx, own.path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return errDeleted
	case err != nil:
		return err
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

// Update implements [queue.Entry]. It wakes nobody. In unfair mode the node is new, and so
// is its label.
func (e *entry) Update(ctx context.Context) error {
	if e.lock.settings.unfair {
		return nil
	}
	_, err := ask(ctx, e.s, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(e.ours().path, queue.NewLabel(e.lock.o), -1) })
	return err
}
