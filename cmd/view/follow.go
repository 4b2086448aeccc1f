package view

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// A Follower looks at locks repeatedly: when the backend reports a change, or every Interval
// if the backend cannot report changes.
type Follower struct {
	Store    *Store
	Interval time.Duration // how often to look if the backend cannot report changes
	// Seen receives the result of each look, and the changes since the previous one. At the
	// first look each lock is a change without a Before. An error ends the Follower.
	Seen func(now []Lock, changes []Change) error
	// Patient says to go on after an outage even at the first look.
	Patient bool

	reports <-chan struct{} // of the current watch; nil: there is none
	wide    bool            // the watch is of all locks
	stop    context.CancelFunc
	noWatch bool // the backend cannot report changes
	last    []Lock
	down    bool // Seen knows
	asking  bool // the last look was not answered, or not yet
}

// idle is how often we look although there is a watch, which may be broken unnoticed.
const idle = 10 * time.Second

// shortest is the shortest pause before another look that no report has asked for.
const shortest = 100 * time.Millisecond

// Follow looks until ctx ends, and returns ctx.Err(). It goes on if the backend cannot be
// reached, but at the first look only if it is Patient. It returns any other error, because
// another look would have the same result.
func (f *Follower) Follow(ctx context.Context) error {
	defer func() { f.unwatch() }()
	pause := backoff.Backoff{Shortest: time.Second, Longest: 10 * time.Second}
	for first := true; ; {
		f.asking = true
		f.watch(ctx)
		err := f.look(ctx, first)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			first = false
			pause = backoff.Backoff{Shortest: time.Second, Longest: 10 * time.Second}
			if f.reports != nil && f.wide != f.Store.IsWide() {
				f.unwatch() // the watch does not report the slots that we have just seen
				continue
			}
			err = f.wait(ctx)
		case first && !f.Patient || !errors.Is(err, locks.ErrUnavailable):
			return err
		default:
			if err = pause.Wait(ctx); err == nil {
				f.unwatch()
				f.noWatch = false
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
	f.asking = err != nil
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

// watch begins a watch. It precedes the look, so that no change falls in between.
func (f *Follower) watch(ctx context.Context) {
	if f.reports != nil || f.noWatch {
		return
	}
	if !f.Store.Can(ctx, locks.CanWatch) {
		f.noWatch = ctx.Err() == nil
		return
	}
	watching, stop := context.WithCancel(ctx)
	limit := time.AfterFunc(f.Store.Timeout, stop)
	f.wide = f.Store.IsWide()
	reports, err := f.Store.Handle.(locks.Watcher).Watch(watching, f.wide)
	if !limit.Stop() || err != nil {
		stop()
		f.noWatch = errors.Is(err, locks.ErrUsage)
		return // we look every Interval, and try again
	}
	f.reports, f.stop = reports, stop
}

func (f *Follower) unwatch() {
	if f.stop != nil {
		f.stop()
	}
	f.reports, f.stop = nil, nil
}

// wait returns when it is time to look again.
func (f *Follower) wait(ctx context.Context) error {
	every := idle
	switch {
	case f.reports != nil && !f.Store.slotted: // which reports no slots
		held := slices.ContainsFunc(f.last, func(l Lock) bool { return l.Held })
		every = min(every, max(f.Store.untilSlots(ctx, held), shortest))
	case f.reports != nil:
	case f.noWatch:
		every = f.Interval
	default: // the next watch may succeed
		every = min(f.Interval, idle)
	}
	for i := range f.last {
		if c := f.last[i].Confirm; c > 0 { // nobody reports that the end of a lease is confirmed
			every = min(every, max(c, shortest))
		}
	}
	timer := time.NewTimer(every)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	case _, ok := <-f.reports:
		if !ok { // the watch has ended; another may succeed
			f.unwatch()
			return f.pauseOnce(ctx)
		}
	}
	return nil
}

// pauseOnce waits before another watch, because it may end at once like the last one.
func (f *Follower) pauseOnce(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(f.Interval, time.Second)):
		return nil
	}
}

// Down reports whether the last look failed, or was not answered before the end.
func (f *Follower) Down() bool { return f.asking }
