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
