package queue

import (
	"context"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// Abilities implements [locks.Able].
func (l *Lock) Abilities(context.Context) ([]locks.Ability, error) {
	all := []locks.Ability{
		locks.CanInspect, locks.CanRecord, locks.CanAsk, locks.CanList, locks.CanWatch, locks.CanBreak, locks.CanProbe, locks.CanForget,
	}
	if !l.traits.Unordered {
		all = append(all, locks.CanQueue)
	}
	return all, nil
}

// Inspect implements [locks.Inspector].
func (l *Lock) Inspect(ctx context.Context) (s locks.State, err error) {
	err = l.request(ctx, "inspect", func() (err error) { s, err = l.store.Inspect(ctx); return err })
	return s, err
}

// Break implements [locks.Breaker]. The next in line leads, and the former holder, which
// watches its entry, notices that at once.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	return l.request(ctx, "break", func() error { return l.store.Break(ctx, token) })
}

// Forget implements [locks.Forgetter].
func (l *Lock) Forget(ctx context.Context) error {
	return l.request(ctx, "forget", func() error { return l.store.Forget(ctx) })
}

// List implements [locks.Lister].
func (l *Lock) List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	err = l.request(ctx, "list locks", func() (err error) { page, next, err = l.store.List(ctx, cursor); return err })
	return page, next, err
}

// Watch implements [locks.Watcher].
func (l *Lock) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	changes, begun := make(chan struct{}, 1), make(chan error, 1)
	err := l.workers.Go(func(closed context.Context) {
		defer close(changes)
		ctx, cancel := workers.Join(ctx, closed)
		defer cancel()
		begins := false
		err := l.store.Watch(ctx, all, func() { begins = true; begun <- nil }, func() { workers.Poke(changes) })
		if closed.Err() != nil {
			err = workers.ErrClosed
		}
		if !begins {
			begun <- err
		}
	})
	if err == nil {
		err = <-begun
	}
	if err != nil {
		return nil, l.fail(ctx, "watch", err)
	}
	return changes, nil
}

// Probe implements [locks.Prober].
func (l *Lock) Probe(ctx context.Context) (s locks.Servers, err error) {
	bounded, cancel := l.workers.Until(ctx)
	defer cancel()
	err = l.request(ctx, "probe", func() (err error) {
		if err = ctx.Err(); err == nil {
			s, err = l.store.Probe(bounded)
		}
		return err
	})
	return s, err
}

// Location implements [locks.Located].
func (l *Lock) Location(context.Context) string { return l.traits.Backend }

var (
	_ locks.Able      = (*Lock)(nil)
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Located   = (*Lock)(nil)
	_ locks.Breaker   = (*Lock)(nil)
	_ locks.Forgetter = (*Lock)(nil)
	_ locks.Lister    = (*Lock)(nil)
	_ locks.Watcher   = (*Lock)(nil)
	_ locks.Prober    = (*Lock)(nil)
)
