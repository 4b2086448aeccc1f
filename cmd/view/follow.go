package view

import (
	"context"
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// A Follower looks again and again: when the backend says that something has
// changed, if it can, and every Interval if it cannot.
type Follower struct {
	Store    *Store
	Interval time.Duration // how often to look if the backend cannot report changes
	// Seen gets what each look has seen, and what is different from the one before; of
	// the first look each lock is a change without a Before. An error ends following.
	Seen func(now []Lock, changes []Change) error
	// Patient says to ride out an outage even at the first look.
	Patient bool

	told <-chan struct{} // nil: nobody tells
	wide bool            // of all locks
	stop context.CancelFunc
	deaf bool // the backend cannot tell at all
	last []Lock
	down bool
}

// idle is how often we look although we would be told: a watch may be broken
// without anybody noticing.
const idle = 10 * time.Second

// Follow looks until ctx ends, and returns ctx.Err(). It rides out a backend that
// cannot be reached, but at its first look only if it is Patient. Another error is one that another
// look would meet as well.
func (f *Follower) Follow(ctx context.Context) error {
	defer func() { f.unwatch() }()
	pause := backoff.Backoff{Shortest: time.Second, Longest: 10 * time.Second}
	for first := true; ; {
		f.watch(ctx)
		err := f.look(ctx, first)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			first = false
			pause = backoff.Backoff{Shortest: time.Second, Longest: 10 * time.Second}
			if f.told != nil && f.wide != f.Store.IsWide() {
				f.unwatch() // we would not be told of the slots that we have just seen
				continue
			}
			err = f.wait(ctx)
		case first && !f.Patient || !errors.Is(err, locks.ErrUnavailable):
			return err
		default:
			if err = pause.Wait(ctx); err == nil {
				f.unwatch()
				f.deaf = false
				f.Store.reopen(ctx)
			}
		}
		if err != nil {
			return err
		}
	}
}

func (f *Follower) look(ctx context.Context, first bool) error {
	now, err := f.Store.Look(ctx)
	at := time.Now()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, locks.ErrUnavailable) && (!first || f.Patient) {
		if !f.down {
			f.down = true
			_ = f.Seen(f.last, []Change{{Time: at, Kind: Unreachable, Trouble: err}})
		}
		return err
	}
	if err != nil {
		return err
	}
	var changes []Change
	if f.down {
		f.down = false
		changes = append(changes, Change{Time: at, Kind: Reachable})
	}
	if first {
		for i := range now {
			changes = append(changes, Change{Time: at, Kind: now[i].Is(), Lock: &now[i]})
		}
	} else {
		changes = append(changes, Changes(f.last, now, at)...)
	}
	f.last = now
	return f.Seen(now, changes)
}

// watch asks to be told, before we look, so that no change falls in between.
func (f *Follower) watch(ctx context.Context) {
	if f.told != nil || f.deaf {
		return
	}
	if !f.Store.Can(ctx, locks.CanWatch) {
		f.deaf = ctx.Err() == nil
		return
	}
	watching, stop := context.WithCancel(ctx)
	limit := time.AfterFunc(f.Store.Timeout, stop)
	f.wide = f.Store.IsWide()
	told, err := f.Store.Handle.(locks.Watcher).Watch(watching, f.wide)
	if !limit.Stop() || err != nil {
		stop()
		f.deaf = errors.Is(err, locks.ErrUsage)
		return // we look every Interval, and try again
	}
	f.told, f.stop = told, stop
}

func (f *Follower) unwatch() {
	if f.stop != nil {
		f.stop()
	}
	f.told, f.stop = nil, nil
}

// wait returns when it is time to look again.
func (f *Follower) wait(ctx context.Context) error {
	every := idle
	switch {
	case f.told != nil:
	case f.deaf:
		every = f.Interval
	default: // it may tell the next time
		every = min(f.Interval, idle)
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	case _, ok := <-f.told:
		if !ok { // it cannot tell any more; perhaps it can again
			f.unwatch()
			return f.pauseOnce(ctx)
		}
	}
	return nil
}

// pauseOnce keeps a watch that ends at once from being asked for without a pause.
func (f *Follower) pauseOnce(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(f.Interval, time.Second)):
		return nil
	}
}

// Down reports whether the last look had no answer.
func (f *Follower) Down() bool { return f.down }
