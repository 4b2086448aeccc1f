package zookeeper

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// In fair mode a lock is a node whose children are the queue. Each contender
// has one, which the server numbers; the lowest leads. An entry may have several
// children, if the answer to the creation of one was lost and it took effect
// late: all have the entry's GUID, and only the first counts.

// joinFair enters the queue. With try, it enters only an empty queue.
func (e *entry) joinFair(ctx context.Context, try bool) (*view, error) {
	if try {
		v, err := e.lookFair(ctx)
		if err != nil || v.head != nil {
			return v, err
		}
	}
	for pause := new(backoff.Backoff); ; {
		err := e.create(ctx, e.lock.node+"/"+e.guid+sequenceMark, zk.FlagEphemeralSequential)
		switch {
		case errors.Is(err, zk.ErrNoChildrenForEphemerals): // the lock is held in unfair mode
			n, err := e.s.get(ctx, e.lock.node)
			if err == nil && ephemeral(n) {
				return &view{head: n, watch: e.lock.node}, foreignHolder(n)
			}
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return nil, err
			}
			continue
		case err != nil && !transient(err) && !errors.Is(err, zk.ErrNodeExists):
			return nil, err // after other errors the node may exist
		}
		v, lookErr := e.lookFair(ctx)
		if lookErr != nil || v.own != nil {
			return v, lookErr
		}
		if err == nil { // the node was created, and has already been deleted
			return nil, errDeleted
		}
		if pause.Wait(ctx) != nil {
			return nil, err
		}
	}
}

// lookFair reads the queue. An answer that lags behind does no harm: if it has our own
// node, it has all nodes that were created before.
func (e *entry) lookFair(ctx context.Context) (*view, error) {
	for {
		names, stat, err := e.s.childrenOf(ctx, e.lock.node)
		if errors.Is(err, zk.ErrNoNode) {
			return &view{}, nil
		}
		if err == nil {
			err = foreignQueue(e.lock.node, stat)
		}
		if err != nil {
			return nil, err
		}
		all, err := e.s.inOrder(ctx, e.lock.node, names)
		if err != nil {
			return nil, err
		}
		v, err := e.viewOf(ctx, all)
		if !errors.Is(err, zk.ErrNoNode) { // with ErrNoNode, a node has just been deleted
			return v, err
		}
	}
}

// viewOf reads our node and the one that leads.
func (e *entry) viewOf(ctx context.Context, all []queueNode) (*view, error) {
	v := &view{waiters: max(len(all)-1, 0)}
	if len(all) == 0 {
		return v, nil
	}
	var err error
	mine := slices.IndexFunc(all, func(p queueNode) bool { return p.guid == e.guid })
	if mine >= 0 {
		if v.own, err = e.s.get(ctx, e.lock.node+"/"+all[mine].name); err != nil {
			return nil, err
		}
	}
	if mine == 0 {
		v.leads = true
		return v, nil
	}
	if mine > 0 {
		v.position, v.watch = mine, e.lock.node+"/"+all[mine-1].name
	}
	if v.head, err = e.s.get(ctx, e.lock.node+"/"+all[0].name); err != nil {
		return nil, err
	}
	return v, foreignEntry(v.head)
}

// create creates one of our nodes, and the nodes above it if they are missing.
func (e *entry) create(ctx context.Context, path string, flags int32) error {
	for {
		err := e.createOnce(ctx, path, flags)
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := e.makeParent(ctx, path); err != nil {
			return err
		}
	}
}

// createOnce waits for a connection, but does not repeat the request, which may have taken
// effect.
func (e *entry) createOnce(ctx context.Context, path string, flags int32) error {
	if err := e.s.await(ctx, 0, false); err != nil {
		return err
	}
	_, err := once(ctx, e.s, func(c *zk.Conn) (string, error) { return c.Create(path, queue.NewLabel(e.lock.o), flags, e.s.acl) })
	return at(e.lock.node, err)
}
