package zookeeper

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// Inspect implements [queue.Store].
func (l *lock) Inspect(ctx context.Context) (locks.State, error) {
	return withTempSession(ctx, l, l.inspect)
}

func (l *lock) inspect(ctx context.Context, s *session) (locks.State, error) {
	head, rest, err := l.line(ctx, s)
	if err != nil || head == nil {
		return locks.State{}, err
	}
	state := locks.State{Status: lineOf(head, len(rest)).Status()}
	if !l.settings.unfair {
		state.Queue, err = l.queue(ctx, s, rest[:min(len(rest), locks.MaxQueue)])
	}
	return state, err
}

// line returns the node that leads now, in either mode, and the nodes after it.
func (l *lock) line(ctx context.Context, s *session) (head *node, rest []queueNode, err error) {
	if err := s.readBarrier(ctx, l.settings.chroot); err != nil {
		return nil, nil, err
	}
	return s.line(ctx, l.node)
}

// line returns the same for the lock with a path, as the server knows it.
func (s *session) line(ctx context.Context, lock string) (head *node, rest []queueNode, err error) {
	for {
		n, err := s.find(ctx, lock)
		if err == nil && n != nil {
			err = foreignLock(n)
		}
		if err != nil || n == nil || ephemeral(n) {
			return n, nil, err
		}
		names, err := s.children(ctx, lock)
		if errors.Is(err, zk.ErrNoNode) {
			continue // the queue was deleted, and there may now be a holder's node
		}
		if err != nil {
			return nil, nil, err
		}
		all, err := s.inOrder(ctx, lock, names)
		if err != nil || len(all) == 0 {
			return nil, nil, err
		}
		if head, err = s.find(ctx, lock+"/"+all[0].name); err == nil && head != nil {
			err = foreignEntry(head)
		}
		if err != nil || head != nil {
			return head, all[1:], err
		} // the node has just been deleted
	}
}

// queue reads the labels of the waiters. It omits those that have just left.
func (l *lock) queue(ctx context.Context, s *session, all []queueNode) (waiting []locks.Place, err error) {
	nodes, errs := make([]*node, len(all)), make([]error, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() { nodes[i], errs[i] = s.find(ctx, l.node+"/"+p.name) })
	}
	wg.Wait()
	for _, n := range nodes {
		if n != nil {
			waiting = append(waiting, queue.ReadPlace(n.data))
		}
	}
	return waiting, errors.Join(errs...)
}

// Break implements [queue.Store].
func (l *lock) Break(ctx context.Context, token uint64) error {
	return l.edit(ctx, func(ctx context.Context, s *session) error { return l.breakTerm(ctx, s, token) })
}

// breakTerm ends the term, whatever its mode. In a queue no other node has the name of the
// holder's. doc.go explains unfair mode.
func (l *lock) breakTerm(ctx context.Context, s *session, token uint64) error {
	head, _, err := l.line(ctx, s)
	switch {
	case err != nil:
		return err
	case head == nil || head.token() != token:
		return errOver
	case head.path == l.node:
		return l.breakUnfair(ctx, s, token)
	}
	_, err = s.transact(ctx, &zk.DeleteRequest{Path: head.path, Version: -1})
	return asLoss(err)
}

func (l *lock) breakUnfair(ctx context.Context, s *session, token uint64) error {
	old, err := s.find(ctx, l.recordPath())
	if err != nil {
		return err
	}
	kept, version, err := l.claim(ctx, s, token, old)
	if err != nil {
		return err
	}
	_, err = s.transact(ctx,
		&zk.DeleteRequest{Path: l.node, Version: version},
		&zk.CheckVersionRequest{Path: kept.path, Version: kept.stat.Version})
	return asLoss(err)
}

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
