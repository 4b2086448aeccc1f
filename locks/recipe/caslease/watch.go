package caslease

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// If the store is a Watcher, a handle watches the lock as soon as it first waits, or has the
// lock. Then a waiter need not poll, and a holder learns at once about requests, and that the
// lock was taken from it. All of that is only for speed: we read the cell now and then even if
// the watch reports nothing, or something wrong, and only what we read counts.

// A watching is a handle's watch for changes.
type watching struct {
	watcher Watcher // nil: the store reports no changes
	once    sync.Once
	active  atomic.Bool   // changes are being reported at the moment
	changes chan struct{} // has room for one: something may have changed
	answers chan struct{} // has room for one: the store has answered a request
}

// init reports whether the store reports changes.
func (w *watching) init(s Store) bool {
	w.watcher, _ = s.(Watcher)
	w.changes, w.answers = make(chan struct{}, 1), make(chan struct{}, 1)
	return w.watcher != nil
}

// sleep pauses for d, or until something may have changed.
func (w *watching) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-w.changes:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// startWatch starts the watch, unless it has been started, and reports whether changes are
// already being reported.
func (l *Lock) startWatch() (active bool) {
	if l.watching.watcher != nil {
		l.watching.once.Do(func() {
			_ = l.Workers.Go(func(ctx context.Context) {
				l.follow(ctx, l.Options.Name, nil, l.watching.changes, &l.watching.active, l.watching.answers)
			})
		})
	}
	return l.watching.active.Load()
}

// follow passes the changes that the store reports on to a channel, and sends a value also
// when it may have missed changes. It returns when ctx ends, or when the store will never
// report any. The caller may have begun the first watch already: then from is its channel.
// While changes are being reported, active is true. After a failure, it begins a new watch only when
// a request was answered, unless answers is nil: a fleet that dials a server which is down must not
// dial it twice.
func (l *Lock) follow(ctx context.Context, name string, from <-chan struct{}, to chan<- struct{}, active *atomic.Bool, answers <-chan struct{}) {
	for pause := newOutage(); ; {
		var err error
		if from == nil {
			from, err = l.watching.watcher.Watch(ctx, name)
		}
		if err == nil {
			start := l.now()
			active.Store(true)
			workers.Poke(to)
			for range from {
				workers.Poke(to)
			}
			active.Store(false)
			if from = nil; l.now().Sub(start) > anyway {
				pause.Reset()
			}
		}
		if err != nil && ctx.Err() == nil && !l.kind(err).Transient() {
			// No warning: cron would mail it after each run, and polling works, too.
			l.Log.Info("the store does not report changes; polling instead", "err", l.Plain(err))
			return
		}
		select {
		case <-answers: // of before
		default:
		}
		if pause.Wait(ctx) != nil {
			return
		}
		if answers != nil {
			workers.Poke(to) // so that there is a request
			select {
			case <-answers:
			case <-ctx.Done():
				return
			}
		}
	}
}

// watchTerm makes the holder look when something may have changed. It is called with mu
// held.
func (l *Lock) watchTerm(t *term) {
	if l.watching.watcher == nil {
		return
	}
	l.startWatch()
	_ = l.Workers.Go(func(ctx context.Context) {
		for {
			select {
			case <-l.watching.changes:
			case <-ctx.Done():
				return
			}
			for pause := newBackoff(); l.checkAfterChange(ctx, t) != nil && pause.Wait(ctx) == nil; {
			}
			if l.why() != nil {
				return
			}
		}
	})
}

// checkAfterChange finds out whether the lock is still ours, and reads the requests. It
// returns an error if it should be called again.
func (l *Lock) checkAfterChange(ctx context.Context, t *term) error {
	ctx, cancel := context.WithTimeout(ctx, l.Options.ConnectTimeout)
	defer cancel()
	if _, err := l.check(ctx, t); err != nil && l.kind(err).Transient() {
		return err
	}
	if l.Options.NoResign || l.why() != nil {
		return nil
	}
	v, err := l.readOnce(ctx, Request)
	l.gotRequests(t, v, err)
	if err != nil && l.kind(err).Transient() {
		return err
	}
	return nil
}

// Watch implements [locks.Watcher].
func (l *Lock) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	if l.watching.watcher == nil {
		return nil, &locks.UsageError{What: "this backend cannot report changes"}
	}
	name := l.Options.Name
	if all {
		name = ""
	}
	return l.Handle.Watch(ctx, func(ctx context.Context, begun func(), changes chan<- struct{}) error {
		first, err := l.watching.watcher.Watch(ctx, name)
		if err == nil {
			begun()
			l.follow(ctx, name, first, changes, new(atomic.Bool), nil)
		}
		return err
	})
}

var _ locks.Watcher = (*Lock)(nil)
