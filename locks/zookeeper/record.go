package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
)

// The record is a persistent node beside the lock's, <escaped name>%record. No
// escaped name has a "%r" or a "%a" in it, so it is no lock's.
func (l *Lock) recordPath() string { return l.lock + recordSuffix }

const recordSuffix = "%record"

// unset is what a node says that was made for a record which is still to come.
// No record does, as it is no UTF-8.
const unset = "\xff"

// Record implements [locks.Recorder].
func (l *Lock) Record(ctx context.Context) ([]byte, error) {
	n, err := aside(ctx, l, func(ctx context.Context, s *session) (*node, error) {
		if err := s.latest(ctx, l.settings.chroot); err != nil {
			return nil, err
		}
		return s.find(ctx, l.recordPath())
	})
	if err != nil {
		return nil, l.fail(ctx, "read the record", err)
	}
	return recordText(n), nil
}

// recordText is what a record's node says; nil: nothing yet. Whatever else is at
// fault with what somebody wrote there, it is not longer than a record may be.
func recordText(n *node) []byte {
	if n == nil || string(n.data) == unset {
		return nil
	}
	text := append([]byte{}, n.data...)
	return text[:min(len(text), locks.MaxRecord)]
}

// SetRecord implements [locks.Recorder].
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	const op = "set the record"
	if err := locks.CheckText(text); err != nil {
		return l.usage(op, err)
	}
	l.mu.Lock()
	e, final := l.current, l.final
	held := e != nil && e.leads
	l.mu.Unlock()
	switch {
	case final != nil:
		return l.fail(ctx, op, final)
	case !held:
		return l.fail(ctx, op, errNotHeld)
	}
	_, err := aside(ctx, l, func(ctx context.Context, s *session) (struct{}, error) {
		if err := s.login(ctx, e.s.identities()); err != nil { // as our node belongs to them
			return struct{}{}, err
		}
		return struct{}{}, again(ctx, func() error { return e.write(ctx, s, text) })
	})
	if errors.Is(err, errDeleted) || errors.Is(err, errReplaced) {
		e.lose(err)
	}
	if err != nil {
		return l.fail(ctx, op, err)
	}
	return nil
}

// write replaces the record in one transaction with a check that our node is
// there. In a queue nobody else's node has its name. doc.go says what it takes
// in unfair mode.
func (e *entry) write(ctx context.Context, s *session, text []byte) error {
	old, err := s.find(ctx, e.recordPath())
	if err != nil {
		return err
	}
	e.mu.Lock()
	ours, token := &zk.CheckVersionRequest{Path: e.proof, Version: -1}, e.token
	e.mu.Unlock()
	if e.settings.unfair {
		if old, ours.Version, err = e.claim(ctx, s, token, old); err != nil {
			return err
		}
	}
	_, err = s.transact(ctx, ours, s.put(e.recordPath(), old, text))
	return lostOr(err)
}

// claim writes the lock's node with that token, and the record, both as they are,
// and returns the record and the version of the lock's node after that. It is for
// unfair mode.
func (l *Lock) claim(ctx context.Context, s *session, token uint64, old *node) (*node, int32, error) {
	own, err := s.find(ctx, l.lock)
	switch {
	case err != nil:
		return nil, 0, err
	case own == nil:
		return nil, 0, errDeleted
	case own.token() != token:
		return nil, 0, errReplaced
	}
	same := &node{path: l.recordPath(), data: []byte(unset)}
	if old != nil {
		same.data, same.stat.Version = old.data, old.stat.Version+1
	}
	all, err := s.transact(ctx, s.put(l.lock, own, own.data), s.put(same.path, old, same.data))
	if err != nil {
		return nil, 0, lostOr(err)
	}
	if uint64(all[0].Stat.Czxid) != token {
		return nil, 0, errReplaced
	}
	return same, all[0].Stat.Version, nil
}

// lostOr tells that our node, the first of a transaction, is gone.
func lostOr(err error) error {
	if c, ok := errors.AsType[*conflict](err); ok && c.node == 0 && errors.Is(c, zk.ErrNoNode) {
		return errDeleted
	}
	return err
}

// usage puts our name to what makes no sense.
func (l *Lock) usage(op string, err error) error {
	return &locks.Error{Op: op, Backend: l.addr, Name: l.o.Name, Class: locks.ErrUsage, Err: err}
}

var _ locks.Recorder = (*Lock)(nil)
