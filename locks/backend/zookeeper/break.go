package zookeeper

import (
	"context"

	"github.com/go-zookeeper/zk"
)

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
