package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"
)

// A pathError says which node an error is about.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.path + ": " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

func at(path string, err error) error {
	if err == nil || transient(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return &pathError{path, err}
}

// makeParent creates the node above another, and those above that if they are missing.
// The queue of a lock is a container, which the server deletes some time after
// it has become empty; servers before 3.5.3 have no containers.
func (e *entry) makeParent(ctx context.Context, below string) error {
	parent := path.Dir(below)
	if parent == "/" {
		return fmt.Errorf("the root is missing") // cannot happen
	}
	for {
		_, err := ask(ctx, e.s, func(c *zk.Conn) (string, error) {
			if parent == e.lock.node && !e.plain.Load() {
				return c.CreateContainer(parent, e.label(parent), zk.FlagContainer, e.s.acl)
			}
			return c.Create(parent, e.label(parent), zk.FlagPersistent, e.s.acl)
		})
		switch {
		case err == nil, errors.Is(err, zk.ErrNodeExists):
			return nil
		case errors.Is(err, zk.ErrNoNode):
			if err := e.makeParent(ctx, parent); err != nil {
				return err
			}
		case unimplemented(err) && !e.plain.Load():
			e.plain.Store(true)
		default:
			return at(parent, err)
		}
	}
}

// queueLabel is the content of a queue. It says that leaderrun has made the node, and may
// delete it.
const queueLabel = "leaderrun queue"

func (e *entry) label(path string) []byte {
	if path == e.lock.node {
		return []byte(queueLabel)
	}
	return []byte{}
}

// unimplemented reports whether the server does not know the request. The library
// has no name for this error, after which the server closes the connection.
func unimplemented(err error) bool { return err.Error() == "unknown error: -6" }

// remove deletes a node, unless it has children.
func (s *session) remove(ctx context.Context, path string) error {
	_, err := ask(ctx, s, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(path, -1) })
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNotEmpty) {
		return nil
	}
	return at(path, err)
}

// ifEmpty returns the operations that delete a queue in a transaction, which fails unless
// the queue is empty. If somebody has just taken the lock in unfair mode, their node has
// the same path and must stay. So a child is created first, which such a node cannot have.
func (s *session) ifEmpty(queue string) []any {
	return append(s.ifMissing(queue+"/empty"), &zk.DeleteRequest{Path: queue, Version: -1})
}

// ifMissing returns operations that change nothing, in a transaction that fails if a node
// exists.
func (s *session) ifMissing(path string) []any {
	return []any{&zk.CreateRequest{Path: path, Acl: s.acl}, &zk.DeleteRequest{Path: path, Version: -1}}
}

// removeQueue deletes a queue if it is empty.
func (s *session) removeQueue(ctx context.Context, queue string) error {
	_, err := ask(ctx, s, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(s.ifEmpty(queue)...) })
	for _, e := range []error{zk.ErrNoNode, zk.ErrNotEmpty, zk.ErrNodeExists, zk.ErrNoChildrenForEphemerals} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return at(queue, err)
}

// tidy deletes what a server without containers would keep: our node, and the
// queue if we were the last. A contender that is about to enter creates it again.
func (e *entry) tidy(ctx context.Context, own string) error {
	n, err := e.s.get(ctx, e.lock.node)
	if err != nil || string(n.data) != queueLabel || n.stat.EphemeralOwner != 0 {
		return err
	}
	if err := e.s.remove(ctx, own); err != nil {
		return err
	}
	return e.s.removeQueue(ctx, e.lock.node)
}
