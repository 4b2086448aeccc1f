package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// In unfair mode a lock is one ephemeral node, and the contender that creates it leads. It
// has the path that the queue has in fair mode, so contenders with different modes exclude
// each other.

// joinUnfair tries to create the node.
func (e *entry) joinUnfair(ctx context.Context, _ bool) (*view, error) {
	for pause := new(backoff.Backoff); ; {
		v, err := e.lookHolder(ctx)
		if err != nil || v.head != nil || v.leads {
			return v, err
		}
		err = e.create(ctx, e.lock.node, zk.FlagEphemeral)
		if err != nil && !errors.Is(err, zk.ErrNodeExists) && !transient(err) {
			return nil, err
		}
		if err != nil && pause.Wait(ctx) != nil {
			return nil, err
		}
	}
}

// lookHolder reads the lock's node. It is ours if it belongs to our session.
func (e *entry) lookHolder(ctx context.Context) (*view, error) {
	for {
		n, err := e.s.get(ctx, e.lock.node)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return &view{}, nil
		case err != nil:
			return nil, err
		case n.stat.EphemeralOwner == e.s.session().id:
			return &view{own: n, leads: true}, nil
		case ephemeral(n):
			return &view{head: n, watch: e.lock.node}, foreignHolder(n)
		}
		if err := foreignLock(n); err != nil {
			return nil, err
		}
		v, err := e.lookFair(ctx) // it is a queue
		if err != nil {
			return nil, err
		}
		if v.head != nil {
			v.watch, v.queue = e.lock.node, true
			return v, err
		}
		if err := e.s.removeQueue(ctx, e.lock.node); err != nil { // an empty queue is in the way
			return nil, err
		}
	}
}

// containerOwner is the owner of containers, which the server deletes when they are empty.
const containerOwner = -1 << 63

// ephemeral reports whether a node belongs to a session.
func ephemeral(n *node) bool {
	return n.stat.EphemeralOwner != 0 && n.stat.EphemeralOwner != containerOwner
}
