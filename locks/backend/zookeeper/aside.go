package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// aside has f use a session that is neither a contender's nor a holder's, within
// the connect timeout: whatever is sent for a session extends it, and nothing
// but Renew may extend a lease.
func aside[T any](ctx context.Context, l *lock, f func(context.Context, *session) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	for pause := new(backoff.Backoff); ; {
		v, err := visit(ctx, l, f)
		if !errors.Is(err, errExpired) { // that is only the visitor's
			return v, err
		}
		if pause.Wait(ctx) != nil {
			return v, errVisit // which says nothing of our own
		}
	}
}

// edit has f change something, and repeats that as again does.
func (l *lock) edit(ctx context.Context, f func(context.Context, *session) error) error {
	_, err := aside(ctx, l, func(ctx context.Context, s *session) (struct{}, error) {
		return struct{}{}, again(ctx, func() error { return f(ctx, s) })
	})
	return err
}

var errVisit = errors.New("the server ends the sessions of our requests")

// visit is one session from its beginning to its end, for which nobody waits
// but Close.
func visit[T any](ctx context.Context, l *lock, f func(context.Context, *session) (T, error)) (v T, err error) {
	s, leave, err := l.visitor()
	if err != nil {
		return v, err
	}
	defer leave()
	defer s.want(ctx)()
	if err = s.await(ctx, 0, true); err == nil {
		err = s.login(ctx, l.settings.users.now())
	}
	if err == nil {
		v, err = f(ctx, s)
	}
	if err != nil && ctx.Err() != nil {
		err = s.because(err)
	}
	return v, err
}

// visitor makes a session, and what ends it.
func (l *lock) visitor() (s *session, leave func(), err error) {
	if s, err = l.newSession(); err != nil {
		return nil, nil, err
	}
	left := make(chan struct{})
	err = l.workers.Go(func(ctx context.Context) {
		select {
		case <-left:
		case <-ctx.Done():
		}
		s.end(workers.ErrClosed)
		ctx, cancel := context.WithTimeout(context.Background(), undoTimeout)
		defer cancel()
		if err := s.closeSession(ctx); err != nil {
			l.log.Debug("cannot close a session; it will expire", "err", err)
		}
	})
	if err != nil {
		s.end(err)
	}
	return s, func() { close(left) }, err
}

// latest has what is read after it be no older than now: it commits a
// transaction that changes nothing, and is answered by the server that we read
// from when that knows it. doc.go says why a sync would not do.
func (s *session) latest(ctx context.Context, path string) error {
	_, err := ask(ctx, s, func(c *zk.Conn) (struct{}, error) {
		_, err := c.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
		return struct{}{}, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil // that was committed, too
	}
	return at(path, err)
}

// find reads a node; nil: there is none.
func (s *session) find(ctx context.Context, path string) (*node, error) {
	n, err := s.get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return n, err
}

// A conflict says that a node was not as a transaction wanted it.
type conflict struct {
	node int // which operation
	err  error
}

func (c *conflict) Error() string { return c.err.Error() }
func (c *conflict) Unwrap() error { return c.err }

// transact makes a transaction, once. If an operation fails the error says
// which.
func (s *session) transact(ctx context.Context, ops ...any) ([]zk.MultiResponse, error) {
	if err := s.await(ctx, 0, false); err != nil {
		return nil, err
	}
	all, err := once(ctx, s, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(ops...) })
	for _, e := range []error{zk.ErrNoNode, zk.ErrBadVersion, zk.ErrNodeExists} {
		if !errors.Is(err, e) {
			continue
		}
		for i, r := range all {
			if r.Error != nil {
				return nil, &conflict{i, err}
			}
		}
	}
	return all, err
}

// put writes a node, if it is still as it was when it was read; nil: there was
// none. So a transaction that comes late, after a later one, changes nothing.
func (s *session) put(path string, old *node, data []byte) any {
	if old == nil {
		return &zk.CreateRequest{Path: path, Data: data, Acl: s.acl}
	}
	return &zk.SetDataRequest{Path: path, Data: data, Version: old.stat.Version}
}

// again repeats what met no answer, or something that has changed meanwhile.
func again(ctx context.Context, once func() error) error {
	for pause := new(backoff.Backoff); ; {
		err := once()
		_, changed := errors.AsType[*conflict](err)
		if err == nil || !changed && !transient(err) || errors.Is(err, locks.ErrLost) {
			return err
		}
		if pause.Wait(ctx) != nil {
			return err
		}
	}
}
