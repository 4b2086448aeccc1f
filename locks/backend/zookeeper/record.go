package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// The record is a persistent node next to the lock's, <escaped name>%record. No
// escaped name has "%r" or "%a", so it is not a lock's node.
func (l *lock) recordPath() string { return l.node + recordSuffix }

const recordSuffix = "%record"

// unset is the content of a node that was created for a record that does not exist yet. It
// is not UTF-8, so no record has it.
const unset = "\xff"

// Record implements [queue.Store].
func (l *lock) Record(ctx context.Context) ([]byte, error) {
	n, err := withTempSession(ctx, l, func(ctx context.Context, s *session) (*node, error) {
		if err := s.readBarrier(ctx, l.settings.chroot); err != nil {
			return nil, err
		}
		return s.find(ctx, l.recordPath())
	})
	return recordText(n), err
}

// recordText returns the text of a record's node, or nil if there is none.
func recordText(n *node) []byte {
	if n == nil || string(n.data) == unset {
		return nil
	}
	return append([]byte{}, n.data...)
}

// Write implements [queue.Entry].
func (e *entry) Write(ctx context.Context, text []byte) error {
	return e.lock.edit(ctx, func(ctx context.Context, s *session) error {
		if err := s.login(ctx, e.s.identities()); err != nil { // our node belongs to them
			return err
		}
		return e.write(ctx, s, text)
	})
}

// write replaces the record in one transaction with a check that our node exists. In a
// queue no other node has its name. doc.go explains unfair mode.
func (e *entry) write(ctx context.Context, s *session, text []byte) error {
	old, err := s.find(ctx, e.lock.recordPath())
	if err != nil {
		return err
	}
	own := e.ours()
	ours := &zk.CheckVersionRequest{Path: own.path, Version: -1}
	if e.lock.settings.unfair {
		if old, ours.Version, err = e.lock.claim(ctx, s, own.token(), old); err != nil {
			return err
		}
	}
	_, err = s.transact(ctx, ours, s.put(e.lock.recordPath(), old, text))
	return asLoss(err)
}

// claim writes the lock's node with that token, and the record, both unchanged, and
// returns the record and the version of the lock's node after that. It is for unfair mode.
func (l *lock) claim(ctx context.Context, s *session, token uint64, old *node) (*node, int32, error) {
	own, err := s.find(ctx, l.node)
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
	all, err := s.transact(ctx, s.put(l.node, own, own.data), s.put(same.path, old, same.data))
	if err != nil {
		return nil, 0, asLoss(err)
	}
	if uint64(all[0].Stat.Czxid) != token {
		return nil, 0, errReplaced
	}
	return same, all[0].Stat.Version, nil
}

// asLoss returns errDeleted if the first operation of a transaction did not find our node,
// and otherwise err.
func asLoss(err error) error {
	if c, ok := errors.AsType[*conflict](err); ok && c.op == 0 && errors.Is(c, zk.ErrNoNode) {
		return errDeleted
	}
	return err
}
