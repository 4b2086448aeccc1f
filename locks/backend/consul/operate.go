package consul

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
)

// Inspect implements [queue.Store].
func (l *lock) Inspect(ctx context.Context) (s locks.State, err error) {
	err = l.retry(ctx, func(ctx context.Context) error {
		p, err := l.client.read(ctx, l.key)
		s.Status = line(p).Status()
		return err
	})
	return s, err
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

// Break implements [queue.Store].
func (l *lock) Break(ctx context.Context, token uint64) error {
	return l.retry(ctx, func(ctx context.Context) error {
		p, err := l.client.read(ctx, l.key)
		if err != nil {
			return err
		}
		if !p.held() || p.ModifyIndex != token {
			return errOver
		}
		// On its own, delete-cas also succeeds if there is no key.
		_, err = l.client.transact(ctx, op{Verb: "check-index", Key: l.key, Index: token}, op{Verb: "delete", Key: l.key})
		if first(err) {
			return errOver
		}
		return err
	})
}

// Forget implements [queue.Store].
func (l *lock) Forget(ctx context.Context) error {
	return l.retry(ctx, func(ctx context.Context) error {
		p, err := l.client.read(ctx, l.key)
		switch {
		case err != nil:
			return err
		case p.held():
			return &locks.HeldError{Status: line(p).Status()}
		}
		if err := l.foreign(p); err != nil {
			return err
		}
		_, err = l.client.transact(ctx, as(p, l.key),
			op{Verb: "delete", Key: l.key}, op{Verb: "delete", Key: l.recordKey()}, op{Verb: "delete", Key: l.askKey()})
		return err
	})
}
