package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// An Entry is the life of one campaign's place in the queue. It is over when it was given
// up, failed, or was lost; a handle may make several entries, but only the last can have
// led.
type Entry struct {
	lock    *Lock
	place   Place
	life    context.Context // ends when the entry is over
	finish  context.CancelFunc
	leaving chan struct{} // held by who ends the session

	// Guarded by Lock.mu.
	ttl   time.Duration // of the session as granted; 0: there is none (yet)
	token uint64        // of the entry that was granted the lock; 0: none
	over  error         // why the entry is over; nil: it is not
}

func (l *Lock) newEntry() *Entry {
	e := &Entry{lock: l, leaving: make(chan struct{}, 1)}
	e.life, e.finish = context.WithCancel(context.Background())
	return e
}

// Granted notes the TTL of the session, as granted. From then on it can be renewed.
func (e *Entry) Granted(ttl time.Duration) {
	e.lock.mu.Lock()
	defer e.lock.mu.Unlock()
	e.ttl = ttl
}

// TTL returns the TTL of the session; 0: there is none yet.
func (e *Entry) TTL() time.Duration {
	e.lock.mu.Lock()
	defer e.lock.mu.Unlock()
	return e.ttl
}

// Token returns the token of the entry that was granted the lock; 0: none was.
func (e *Entry) Token() uint64 {
	e.lock.mu.Lock()
	defer e.lock.mu.Unlock()
	return e.token
}

// Over returns why the entry is over; nil: it is not.
func (e *Entry) Over() error {
	e.lock.mu.Lock()
	defer e.lock.mu.Unlock()
	return e.over
}

// UntilOver returns a context that ends with the entry, too.
func (e *Entry) UntilOver(ctx context.Context) (context.Context, context.CancelFunc) {
	return workers.Join(ctx, e.life)
}

// Spawn runs f in the background until the entry is over; Close waits for it.
func (e *Entry) Spawn(f func(context.Context)) {
	if e.Over() != nil {
		return
	}
	_ = e.lock.workers.Go(func(ctx context.Context) {
		ctx, cancel := e.UntilOver(ctx)
		defer cancel()
		f(ctx)
	})
}

// Lose ends an entry that is surely not ours any more.
func (e *Entry) Lose(why error) {
	if e.end(why, true) {
		e.lock.log.Info("lost the lock, or the place in its queue", "err", why)
		e.lock.lost <- e.lock.fail(context.Background(), "keep", why)
	}
}

// judge has an error of the place end the entry, if it says that this is lost.
func (e *Entry) judge(err error) error {
	if errors.Is(err, locks.ErrLost) {
		e.Lose(err)
	}
	return err
}

// end makes the entry over, unless it is already. Final says that this ends the handle,
// too.
func (e *Entry) end(why error, final bool) (first bool) {
	if first = e.note(why, final); first {
		e.finish()
		e.place.End(why)
	}
	return first
}

func (e *Entry) note(why error, final bool) (first bool) {
	e.lock.mu.Lock()
	defer e.lock.mu.Unlock()
	if e.over != nil {
		return false
	}
	e.over = why
	if final && e.lock.final == nil {
		e.lock.final = why
	}
	return true
}

// lead notes that the entry with a token has the lock.
func (e *Entry) lead(token uint64) {
	e.lock.mu.Lock()
	e.token = token
	e.lock.mu.Unlock()
	e.hear()
}

// guard watches our own entry, beginning after a delay, until the term is over: an
// operator may delete it.
func (e *Entry) guard(delay time.Duration) {
	e.Spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, delay) != nil {
			return
		}
		for pause := new(backoff.Backoff); ; {
			err := e.judge(e.place.Guard(ctx, pause))
			if err != nil && ctx.Err() == nil {
				e.lock.log.Debug("the watch of the lock's entry ended", "err", e.lock.plain(err))
			}
			if errors.Is(err, locks.ErrLost) || pause.Wait(ctx) != nil {
				return
			}
		}
	})
}

// restampLazily renews what our entry says once we lead after a wait, so that it tells
// since when. It is not worth a retry.
func (e *Entry) restampLazily() {
	e.Spawn(func(ctx context.Context) {
		if backoff.Sleep(ctx, lazily) != nil {
			return
		}
		if err := e.place.Restamp(ctx); err != nil {
			e.lock.log.Debug("cannot renew the lock's entry", "err", e.lock.plain(err))
		}
	})
}

// undo removes what a failed campaign may have left. It is not bound to the caller's
// patience, which may have ended. That it may fail is worth a warning only if there
// surely is something left.
func (e *Entry) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	level := slog.LevelDebug
	if e.TTL() > 0 {
		level = slog.LevelWarn
	}
	if err := e.leave(ctx); err != nil {
		e.lock.log.Log(ctx, level, "cannot undo an acquire; its lease will run out", "err", e.lock.plain(err), "ttl", e.lock.o.TTL)
	}
}

// leave ends the session of an entry that is over, and so deletes the entry. One does so
// at a time: a second one could find the session gone before the first has its answer.
func (e *Entry) leave(ctx context.Context) error {
	select {
	case e.leaving <- struct{}{}:
		defer func() { <-e.leaving }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return e.place.Leave(ctx)
}
