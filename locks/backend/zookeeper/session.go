package zookeeper

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// A session is ZooKeeper's, used through the library. All nodes of a contender belong to
// it, and are deleted with it. It is the lease.
type session struct {
	*connector
	acl []zk.ACL
}

// newSession prepares a session. It begins at the server with the first request that wants
// a connection.
func (l *lock) newSession() (*session, error) {
	connector := l.newConnector()
	if err := connectLibrary(connector, l.workers); err != nil {
		return nil, err
	}
	acl := zk.WorldACL(zk.PermAll)
	if len(l.settings.users.now()) > 0 {
		acl = zk.AuthACL(zk.PermAll)
	}
	return &session{connector: connector, acl: acl}, nil
}

// ask makes a request that may be repeated, until ctx ends. It waits for a connection, but
// does not cause one. The library's own functions have no context, and wait forever.
func ask[T any](ctx context.Context, s *session, request func(*zk.Conn) (T, error)) (T, error) {
	for pause := new(backoff.Backoff); ; {
		if err := s.await(ctx, 0, false); err != nil {
			var zero T
			return zero, err
		}
		v, err := once(ctx, s, request)
		if err == nil || !transient(err) {
			return v, err
		}
		if pause.Wait(ctx) != nil {
			return v, err
		}
	}
}

// once makes a request on the current connection, or the next. If ctx ends first, the
// outcome is unknown.
func once[T any](ctx context.Context, s *session, request func(*zk.Conn) (T, error)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() { // ends with the session at the latest
		s.asking.RLock()
		defer s.asking.RUnlock()
		v, err := request(s.library)
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

// transient reports whether a request got no answer, or one that asks for a repetition.
func transient(err error) bool {
	for _, e := range []error{zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrClosing, zk.ErrSessionMoved, zk.ErrSessionExpired, io.EOF, net.ErrClosed} {
		if errors.Is(err, e) { // only the connector knows that a session has ended
			return true
		}
	}
	_, network := errors.AsType[net.Error](err)
	return network && !errors.Is(err, context.DeadlineExceeded)
}

// login adds users to the session, unless it has them. The library repeats that on each
// connection.
func (s *session) login(ctx context.Context, users []string) error {
	for _, user := range users {
		if slices.Contains(s.identities(), user) {
			continue
		}
		_, err := ask(ctx, s, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.AddAuth("digest", []byte(user)) })
		if err != nil {
			return err
		}
		s.change(func() { s.loggedIn = append(s.loggedIn, user) })
	}
	return nil
}

// identities returns the users that the session has.
func (s *session) identities() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.loggedIn)
}

// A node is a node as it was read.
type node struct {
	path string
	data []byte
	stat zk.Stat
}

func (s *session) get(ctx context.Context, path string) (*node, error) {
	return ask(ctx, s, func(c *zk.Conn) (*node, error) {
		data, stat, err := c.Get(path)
		if err != nil {
			return nil, at(path, err)
		}
		return &node{path, data, *stat}, nil
	})
}

// find reads a node. It returns nil if the node does not exist.
func (s *session) find(ctx context.Context, path string) (*node, error) {
	n, err := s.get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return n, err
}

// children returns the names of a node's children.
func (s *session) children(ctx context.Context, path string) ([]string, error) {
	names, _, err := s.childrenOf(ctx, path)
	return names, err
}

// childrenOf also returns what is known about the node itself.
func (s *session) childrenOf(ctx context.Context, path string) ([]string, zk.Stat, error) {
	type answer struct {
		names []string
		stat  zk.Stat
	}
	a, err := ask(ctx, s, func(c *zk.Conn) (answer, error) {
		names, stat, err := c.Children(path)
		if err != nil {
			return answer{}, at(path, err)
		}
		return answer{names, *stat}, nil
	})
	return a.names, a.stat, err
}

// watchGone watches for the deletion of a node. It watches the node's children: an
// ephemeral node has none, and its data may change without an event.
func (s *session) watchGone(ctx context.Context, path string) (*watch, error) {
	s.noteWatch(path, zk.EventNodeChildrenChanged)
	return ask(ctx, s, func(c *zk.Conn) (*watch, error) {
		_, stat, events, err := c.ChildrenW(path)
		if err != nil {
			return nil, err
		}
		return &watch{events, uint64(stat.Czxid)}, nil
	})
}

// A watch has one event, and the token of the node that it watches.
type watch struct {
	events <-chan zk.Event
	token  uint64
}

// renew proves that the session lasts for its full timeout from some moment
// after the call. doc.go says why both steps are needed.
func (s *session) renew(ctx context.Context, path string, another bool) error {
	defer s.want(ctx)()
	before := s.renewConnection(ctx, another)
	if err := s.await(ctx, before, false); err != nil {
		return err
	}
	if err := s.login(ctx, slices.Concat(s.owners, s.users.now())); err != nil {
		return err
	}
	_, err := ask(ctx, s, func(c *zk.Conn) (struct{}, error) {
		_, err := c.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
		return struct{}{}, err
	})
	return err
}
