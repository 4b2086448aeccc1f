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

// A session is ZooKeeper's, used through the library: all that a contender
// stores belongs to it, and is deleted with it. It is the lease.
type session struct {
	*link
	acl []zk.ACL
}

// newSession prepares a session. It is begun at the server by the first
// request that wants a connection.
func (l *lock) newSession() (*session, error) {
	link := l.newLink()
	if err := connectLibrary(link, l.workers); err != nil {
		return nil, err
	}
	acl := zk.WorldACL(zk.PermAll)
	if len(l.settings.users.now()) > 0 {
		acl = zk.AuthACL(zk.PermAll)
	}
	return &session{link: link, acl: acl}, nil
}

// ask makes a request that may be repeated, for as long as ctx allows. It waits
// for a connection, but wants none. The library's own functions know no context
// and wait for ever.
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

// once makes a request, on whatever connection there is or comes. If ctx ends
// first, its outcome is unknown.
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

// transient reports that a request met no answer, or one that asks for a
// repetition.
func transient(err error) bool {
	for _, e := range []error{zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrClosing, zk.ErrSessionMoved, zk.ErrSessionExpired, io.EOF, net.ErrClosed} {
		if errors.Is(err, e) { // the end of a session is learnt from the link
			return true
		}
	}
	_, network := errors.AsType[net.Error](err)
	return network && !errors.Is(err, context.DeadlineExceeded)
}

// login makes users known, unless they are. The library repeats that on each
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
		s.change(func() { s.shown = append(s.shown, user) })
	}
	return nil
}

// identities returns the users that were made known.
func (s *session) identities() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shown)
}

// A node is what is known of one.
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

func (s *session) children(ctx context.Context, path string) ([]string, error) {
	return ask(ctx, s, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path)
		return names, at(path, err)
	})
}

// watchGone watches a node for its deletion only. What is watched are its
// children: an ephemeral node has none, so that its data may change without
// waking anybody.
func (s *session) watchGone(ctx context.Context, path string) (*watch, error) {
	s.watches(path, zk.EventNodeChildrenChanged)
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
// after the call. doc.go says why it takes both steps.
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
