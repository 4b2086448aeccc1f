package quorum

import (
	"context"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// watching is how long one call waits for a change.
const watching = 25 * time.Second

// Watch implements [locks.Watcher]: a call to each voter waits until its vote changes.
func (l *Lock) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	call := wire.Call{Lock: l.o.Name, Watch: &wire.Watch{All: all}}
	v, err := l.ask(ctx, call, (*view).majority)
	if err != nil {
		return nil, l.fail(ctx, "watch", err)
	}
	client, err := l.begin(ctx)
	if err != nil {
		return nil, l.fail(ctx, "watch", err)
	}
	changes := make(chan struct{}, 1)
	err = l.workers.Go(func(life context.Context) {
		ctx, cancel := workers.Join(ctx, life)
		defer cancel()
		defer close(changes)
		var each sync.WaitGroup
		defer each.Wait()
		for seat := range l.settings.names {
			var mark uint64
			if r := v.replies[seat]; r != nil {
				mark = r.Mark
			}
			each.Go(func() { l.watch(ctx, client, seat, mark, all, changes) })
		}
	})
	if err != nil {
		return nil, l.fail(ctx, "watch", err)
	}
	return changes, nil
}

// watch watches one voter.
func (l *Lock) watch(ctx context.Context, client *wire.Client, seat int, mark uint64, all bool, changes chan<- struct{}) {
	pauses := backoff.Backoff{Shortest: 100 * time.Millisecond, Longest: 2 * time.Second}
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, watching+l.o.ConnectTimeout)
		r, err := client.Call(limited, seat, &wire.Call{Group: l.settings.group, Space: l.settings.space, Lock: l.o.Name, Watch: &wire.Watch{Mark: mark, All: all, For: watching}})
		cancel()
		switch {
		case err != nil:
			client.Resolve()
			_ = pauses.Wait(ctx)
		case r.Mark != mark && r.Group == l.settings.group:
			mark = r.Mark
			workers.Poke(changes)
			pauses.Reset()
		default:
			_ = pauses.Wait(ctx)
		}
	}
}

var _ locks.Watcher = (*Lock)(nil)
