package zookeeper

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/locks/clock"
)

// An entry is one campaign: a session of its own, and what belongs to that. It
// is over when it was given up, failed, or was lost; a handle may make several
// entries, but only the last can have led.
type entry struct {
	*Lock
	s       *session
	guid    string
	ended   chan struct{} // closed when the entry is over
	leaving chan struct{} // held by who closes the session
	plain   atomic.Bool   // the server knows no containers

	// Guarded by Lock.mu.
	ttl     time.Duration // of the session as granted; 0: there is none (yet)
	expires clock.Instant // when it may have ended, unless it is renewed
	proof   string        // the node that a renewal looks at; "": nothing to renew (yet)
	token   uint64        // of our node; 0: there is none (yet)
	leads   bool          // our node was granted the lock
	failed  bool          // the last renewal did
	closed  bool          // the session is surely gone
	over    error         // why the entry is over; nil: it is not
}

// newEntry is called with Lock.mu held.
func (l *Lock) newEntry() (*entry, error) {
	s, err := newSession(l.settings, l.o, l.log, l.workers.Go)
	return &entry{Lock: l, s: s, guid: rand.Text(), ended: make(chan struct{}), leaving: make(chan struct{}, 1)}, err
}

// begin notes that the session began, at the latest at the given moment. From
// then on the entry ends when it is not renewed.
func (e *entry) begin(sent clock.Instant) {
	ttl := e.s.session().timeout
	e.mu.Lock()
	e.ttl, e.expires = ttl, sent.Add(ttl)
	e.mu.Unlock()
	e.spawn(e.expire)
}

// expire ends the entry when its session has, or when nobody has renewed it for
// as long as that may last: whatever the servers would allow, nothing is sent
// for it any more.
func (e *entry) expire(ctx context.Context) {
	for {
		at := e.expiry()
		timer := clock.NewTimer(clock.Boot{}, at)
		select {
		case <-timer.C:
			if e.expiry() == at {
				e.lose(errNotRenewed)
				return
			}
		case <-e.s.done:
			timer.Stop()
			e.lose(e.s.whyOver())
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (e *entry) expiry() clock.Instant {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.expires
}

// entered notes what can be renewed from now on: our node, or if there is none
// one that is always there.
func (e *entry) entered(own *node) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if own == nil {
		e.proof = e.settings.chroot
		return
	}
	e.proof, e.token = own.path, own.token()
}

// lead notes that our node has the lock.
func (e *entry) lead() {
	e.mu.Lock()
	e.leads = true
	e.mu.Unlock()
	e.hear()
}

// end makes the entry over, unless it is already. Final says that this ends
// the handle, too. Nothing is sent after that, but to close the session.
func (e *entry) end(why error, final bool) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over != nil {
		return false
	}
	e.over = why
	if final && e.final == nil {
		e.final = why
	}
	close(e.ended)
	e.s.end(why)
	return true
}

// lose ends an entry that is surely not ours any more.
func (e *entry) lose(why error) {
	if e.end(why, true) {
		if errors.Is(why, errExpired) {
			e.mu.Lock()
			e.closed = true
			e.mu.Unlock()
		}
		e.log.Info("lost the lock, or the place in its queue", "err", why)
		e.lost <- e.fail(context.Background(), "keep", why)
	}
}

// untilOver returns a context that ends with the entry, too.
func (e *entry) untilOver(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-e.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// spawn runs f in the background; Close waits for it.
func (e *entry) spawn(f func(context.Context)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over != nil {
		return
	}
	e.workers.Go(func() {
		ctx, cancel := e.untilOver(context.Background())
		defer cancel()
		f(ctx)
	})
}

// term returns the TTL of the session, or why there is none any more.
func (e *entry) term() (time.Duration, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ttl, e.over
}

// undo removes what a failed campaign may have left. It is not bound to the
// caller's patience, which may have ended.
func (e *entry) undo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	level := slog.LevelDebug
	if ttl, _ := e.term(); ttl > 0 {
		level = slog.LevelWarn
	}
	if err := e.leave(ctx); err != nil {
		e.log.Log(ctx, level, "cannot undo an acquire; its session will expire", "err", err, "ttl", e.o.TTL)
	}
}

// leave closes the session of an entry that is over, and so deletes all that
// belongs to it, and nothing else. One does so at a time: a server drops, without
// an answer, what it is asked for a session that another has just closed.
func (e *entry) leave(ctx context.Context) error {
	select {
	case e.leaving <- struct{}{}:
		defer func() { <-e.leaving }()
	case <-ctx.Done():
		return ctx.Err()
	}
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return nil
	}
	if err := e.s.closeSession(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return nil
}
