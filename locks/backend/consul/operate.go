package consul

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// Inspect implements [queue.Store].
func (l *lock) Inspect(ctx context.Context) (s locks.State, err error) {
	err = l.retry(ctx, func(ctx context.Context) error {
		p, err := l.client.read(ctx, l.key)
		s = locks.State{Status: l.line(l.o.Name, p).Status()}
		if err == nil && !s.Held && l.delayed(ctx) {
			s.Details = []string{"a lock delay keeps everybody out: its last session ended without a release"}
		}
		return err
	})
	return s, err
}

// delayed reports whether a lock delay is known to keep everybody out. The transaction is
// refused before anything is done, as its second part names no key, but with all the reasons.
func (l *lock) delayed(ctx context.Context) bool {
	_, err := l.client.transact(ctx, op{Verb: "lock", Key: l.key, Session: "none"}, op{Verb: "get"})
	return isDelay(err)
}

// isDelay reports whether a transaction was refused because of a lock delay.
func isDelay(err error) bool {
	c, ok := errors.AsType[*conflict](err)
	return ok && strings.Contains(c.What, "due to lock delay")
}

// Record implements [queue.Store].
func (l *lock) Record(ctx context.Context) (text []byte, err error) {
	err = l.retry(ctx, func(ctx context.Context) error {
		p, err := l.client.read(ctx, l.recordKey())
		text = p.text()
		return err
	})
	return text, err
}

// text is the value of a key, or nil if the key does not exist.
func (p *pair) text() []byte {
	if p == nil {
		return nil
	}
	return append([]byte{}, p.Value...)
}

// index is what a transaction compares, so that it changes a key only as we know it. For a
// key that does not exist it is 0.
func (p *pair) index() uint64 {
	if p == nil {
		return 0
	}
	return p.ModifyIndex
}

// Write implements [queue.Entry]. The key of the lock is not written, as its index is the
// token.
func (e *entry) Write(ctx context.Context, text []byte) error {
	session, _ := e.ours()
	return e.lock.retry(ctx, func(ctx context.Context) error {
		old, err := e.lock.client.read(ctx, e.lock.recordKey())
		if err != nil {
			return err
		}
		_, err = e.lock.client.transact(ctx,
			op{Verb: "check-session", Key: e.lock.key, Session: session},
			op{Verb: "cas", Key: e.lock.recordKey(), Value: text, Index: old.index()})
		if first(err) {
			return errUnlocked
		}
		return err
	})
}

// first reports whether the first operation of a transaction made it fail.
func first(err error) bool {
	c, ok := errors.AsType[*conflict](err)
	return ok && c.OpIndex == 0
}

// Ask implements [queue.Store].
func (l *lock) Ask(ctx context.Context, token uint64, request []byte) error {
	return l.retry(ctx, func(ctx context.Context) error {
		_, err := l.client.transact(ctx,
			op{Verb: "check-index", Key: l.key, Index: token},
			op{Verb: "set", Key: l.askKey(), Value: request})
		if first(err) {
			return nil // that term is over
		}
		return err
	})
}

// Break implements [queue.Store]. It ends the session of that term, and nobody gets the key for
// the length of its lease: the holder may not learn of it at once. Before that it writes the key as
// it is, which only one operator can do.
func (l *lock) Break(ctx context.Context, token uint64) error {
	session := "" // of that term, once we know it
	return l.retry(ctx, func(ctx context.Context) error {
		p, err := l.client.read(ctx, l.key)
		switch {
		case err != nil:
			return err
		case session != "" && l.lapsed(p) && p.CreateIndex == token:
			return nil // by an attempt whose answer was lost
		case !p.held(), p.ModifyIndex != token && p.Session != session:
			return errOver
		case p.ModifyIndex == token:
			session = p.Session
			_, err := l.client.transact(ctx, op{Verb: "cas", Key: l.key, Value: p.Value[:min(len(p.Value), 64<<10)], Flags: p.Flags, Index: token})
			if first(err) {
				return errOver
			}
			if err != nil {
				return err
			}
		}
		_, err = l.client.put(ctx, "/v1/session/destroy/"+session, nil, 0, nil)
		if err == nil {
			err = l.client.gone(ctx, session)
		}
		return err
	})
}

// Forget implements [queue.Store]. After a lapse it waits until the last holder can no longer trust
// its lease, provided that there is time for that.
func (l *lock) Forget(ctx context.Context) error {
	for {
		err := l.forget(ctx)
		held, ok := errors.AsType[*locks.HeldError](err)
		if !ok || held.Status.Confirm == 0 {
			return err
		}
		if end, limited := ctx.Deadline(); limited && time.Until(end) < held.Status.Confirm || backoff.Sleep(ctx, held.Status.Confirm) != nil {
			return err
		}
	}
}

func (l *lock) forget(ctx context.Context) error {
	return l.retry(ctx, func(ctx context.Context) error {
		p, err := l.client.read(ctx, l.key)
		if err != nil {
			return err
		}
		if s := l.line(l.o.Name, p).Status(); s.Held && !s.Over() {
			return &locks.HeldError{Status: s}
		}
		if err := l.foreign(p); err != nil {
			return err
		}
		_, err = l.client.transact(ctx, as(p, l.key),
			op{Verb: "delete", Key: l.key}, op{Verb: "delete", Key: l.recordKey()}, op{Verb: "delete", Key: l.askKey()})
		return err
	})
}
