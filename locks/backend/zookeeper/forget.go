package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
)

// Forget implements [queue.Store]. The chroot stays, even if it is empty: somebody who may
// use it may not have the permission to create it again.
func (l *lock) Forget(ctx context.Context) error {
	return l.edit(ctx, l.forget)
}

// forget deletes all nodes of the lock in one transaction, which fails if somebody has
// taken the lock since we looked.
func (l *lock) forget(ctx context.Context, s *session) error {
	head, rest, err := l.line(ctx, s)
	if err != nil {
		return err
	}
	if head != nil {
		return &locks.HeldError{Status: lineOf(head, len(rest)).Status()}
	}
	ops, err := l.ifUnused(ctx, s)
	if err != nil {
		return err
	}
	exists := false
	for _, path := range []string{l.node, l.recordPath(), l.askPath()} {
		n, err := s.find(ctx, path)
		if err != nil {
			return err
		}
		exists = exists || n != nil
		if n != nil && path != l.node {
			ops = append(ops, &zk.DeleteRequest{Path: path, Version: -1})
		}
	}
	if !exists {
		return nil
	}
	_, err = s.transact(ctx, ops...)
	if errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zk.ErrNoChildrenForEphemerals) {
		return &conflict{err: err}
	}
	return err
}

// ifUnused returns the operations that delete the lock's node in a transaction, which fails
// if somebody has the lock by then, or waits for it.
func (l *lock) ifUnused(ctx context.Context, s *session) ([]any, error) {
	names, err := s.children(ctx, l.node)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return s.ifMissing(l.node), nil
	case err != nil:
		return nil, err
	case len(names) > 0 && len(queueNodes(names)) == 0:
		return nil, locks.Foreign("the node "+locks.Printable(l.node+"/"+names[0]), nil, place)
	}
	return s.ifEmpty(l.node), nil
}
