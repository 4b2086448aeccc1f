package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
)

// Forget implements [locks.Forgetter]. The chroot stays, even if it is empty: who
// may use it need not be allowed to make it anew.
func (l *Lock) Forget(ctx context.Context) error {
	_, err := aside(ctx, l, func(ctx context.Context, s *session) (struct{}, error) {
		return struct{}{}, again(ctx, func() error { return l.forget(ctx, s) })
	})
	if held, ok := errors.AsType[*locks.HeldError](err); ok && ctx.Err() == nil {
		return held
	}
	if err != nil {
		return l.fail(ctx, "forget", err)
	}
	return nil
}

// forget deletes all that there is in one transaction, which fails if somebody has
// come since we looked.
func (l *Lock) forget(ctx context.Context, s *session) error {
	head, rest, err := l.line(ctx, s)
	if err != nil {
		return err
	}
	if head != nil {
		v := view{head: head, waiters: len(rest)}
		return &locks.HeldError{Status: v.status()}
	}
	ops, err := l.vacate(ctx, s)
	if err != nil {
		return err
	}
	there := false
	for _, path := range []string{l.lock, l.recordPath(), l.askPath()} {
		n, err := s.find(ctx, path)
		if err != nil {
			return err
		}
		there = there || n != nil
		if n != nil && path != l.lock {
			ops = append(ops, &zk.DeleteRequest{Path: path, Version: -1})
		}
	}
	if !there {
		return nil
	}
	_, err = s.transact(ctx, ops...)
	if errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zk.ErrNoChildrenForEphemerals) {
		return &conflict{err: err}
	}
	return err
}

// vacate deletes the lock's node in a transaction, which fails if anybody has the
// lock by then, or waits for it.
func (l *Lock) vacate(ctx context.Context, s *session) ([]any, error) {
	names, err := s.children(ctx, l.lock)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return s.ifMissing(l.lock), nil
	case err != nil:
		return nil, err
	case len(names) > 0 && len(places(names)) == 0:
		return nil, &pathError{l.lock, errStrange}
	}
	return s.ifEmpty(l.lock), nil
}

var errStrange = errors.New("there are nodes below it that are not leaderrun's; delete them by hand")

var _ locks.Forgetter = (*Lock)(nil)
