package caslease

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// Where the store is a Watcher, a handle listens from when it first waits, or has the
// lock. Then who waits need not poll, and a holder hears at once what it is asked, and
// that the lock was taken from it. All of that is for speed: whoever hears nothing, or
// something wrong, looks now and then, and what it sees then is all that counts.

// An ear is what a handle hears of changes.
type ear struct {
	watcher Watcher       // nil: the store tells of none
	begun   bool          // guarded by Lock.mu
	hears   atomic.Bool   // changes are heard of at the moment
	changes chan struct{} // of one: something may have changed
	lost    chan error    // of one, or nil: see Lock.Lost
}

func (e *ear) init(s Store) {
	if w, ok := s.(Watcher); ok {
		e.watcher, e.changes, e.lost = w, make(chan struct{}, 1), make(chan error, 1)
	}
}

// sleep pauses for d, or until something may have changed.
func (e *ear) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-e.changes:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listens begins to listen, if it has not begun, and reports whether changes are heard
// of already.
func (l *Lock) listens() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listenOnce()
	return l.ear.hears.Load()
}

// listenOnce begins to listen. It is called with mu.
func (l *Lock) listenOnce() {
	if l.ear.watcher == nil || l.ear.begun || l.final != nil {
		return
	}
	l.ear.begun = true
	_ = l.workers.Go(func(ctx context.Context) {
		l.follow(ctx, l.o.Name, nil, l.ear.changes, &l.ear.hears)
	})
}

// follow passes on what the store tells of changes, and says so when some may have been
// missed. It returns when ctx ends, or when the store will never tell. The first channel
// may be had already. What it hears at the moment is noted in hears.
func (l *Lock) follow(ctx context.Context, name string, from <-chan struct{}, to chan<- struct{}, hears *atomic.Bool) {
	for pause := newBackoff(); ; {
		var err error
		if from == nil {
			from, err = l.ear.watcher.Watch(ctx, name)
		}
		if err == nil {
			start := l.now()
			hears.Store(true)
			workers.Poke(to)
			for range from {
				workers.Poke(to)
			}
			hears.Store(false)
			if from = nil; l.now().Sub(start) > anyway {
				pause.Reset()
			}
		}
		if err != nil && ctx.Err() == nil && !l.kind(err).transient() {
			// No warning: cron would send it after each run, and what is slower still works.
			l.log.Info("changes are not told of; looking now and then instead", "err", l.plain(err))
			return
		}
		if pause.Wait(ctx) != nil {
			return
		}
	}
}

// hearken has the holder look when something may have changed. It is called with mu.
func (l *Lock) hearken(t *term) {
	if l.ear.watcher == nil {
		return
	}
	l.listenOnce()
	_ = l.workers.Go(func(ctx context.Context) {
		for {
			select {
			case <-l.ear.changes:
			case <-ctx.Done():
				return
			}
			for pause := newBackoff(); l.attend(ctx, t) != nil && pause.Wait(ctx) == nil; {
			}
			if l.why() != nil {
				return
			}
		}
	})
}

// attend finds out whether the lock is still ours, and what we are asked. It returns an
// error if it is worth another look.
func (l *Lock) attend(ctx context.Context, t *term) error {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	if _, err := l.check(ctx, t); err != nil && l.kind(err).transient() {
		return err
	}
	if l.o.NoResign || l.why() != nil {
		return nil
	}
	v, err := l.readOnce(ctx, Request)
	l.hear(t, v, err)
	if err != nil && l.kind(err).transient() {
		return err
	}
	return nil
}

// tell passes a loss on. It is called with mu, once.
func (l *Lock) tell(why error) {
	if l.ear.lost != nil {
		l.ear.lost <- &locks.Error{Op: "watch", Backend: l.traits.Backend, Name: l.o.Name, Class: locks.ErrLost, Err: why}
	}
}

// Watch implements [locks.Watcher].
func (l *Lock) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	if l.ear.watcher == nil {
		return nil, &locks.UsageError{What: "this backend cannot tell when a lock changes"}
	}
	name := l.o.Name
	if all {
		name = ""
	}
	bounded, cancel := l.workers.Until(ctx)
	first, err := l.ear.watcher.Watch(bounded, name)
	c := make(chan struct{}, 1)
	if err == nil {
		err = l.workers.Go(func(context.Context) {
			defer close(c)
			defer cancel()
			l.follow(bounded, name, first, c, new(atomic.Bool))
		})
	}
	if err != nil {
		cancel()
		return nil, l.fail(ctx, "watch", err)
	}
	return c, nil
}

var _ locks.Watcher = (*Lock)(nil)
