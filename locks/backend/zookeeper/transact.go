package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// edit calls f in a temporary session to change something, and repeats it as retryEdit does.
func (l *lock) edit(ctx context.Context, f func(context.Context, *session) error) error {
	_, err := withTempSession(ctx, l, func(ctx context.Context, s *session) (struct{}, error) {
		return struct{}{}, retryEdit(ctx, func() error { return f(ctx, s) })
	})
	return err
}

// A conflict says that a condition of a transaction did not hold.
type conflict struct {
	op  int // the number of the operation
	err error
}

func (c *conflict) Error() string { return c.err.Error() }
func (c *conflict) Unwrap() error { return c.err }

// transact makes a transaction once. If an operation fails, the error says which.
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

// put returns the operation that writes a node if it is as it was when it was read, or
// creates it if old is nil. So a transaction that arrives after a later one changes
// nothing.
func (s *session) put(path string, old *node, data []byte) any {
	if old == nil {
		return &zk.CreateRequest{Path: path, Data: data, Acl: s.acl}
	}
	return &zk.SetDataRequest{Path: path, Data: data, Version: old.stat.Version}
}

// retryEdit repeats an edit that got no answer, or that met a conflict.
func retryEdit(ctx context.Context, once func() error) error {
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
