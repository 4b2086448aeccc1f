package zookeeper

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
)

// Break implements [locks.Breaker]: it deletes the holder's node, which its guard
// notices at once.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	_, err := aside(ctx, l, func(ctx context.Context, s *session) (struct{}, error) {
		return struct{}{}, again(ctx, func() error { return l.breakTerm(ctx, s, token) })
	})
	if err != nil {
		return l.fail(ctx, "break", err)
	}
	return nil
}

// breakTerm ends the term in whichever mode it is. In a queue nobody else's node
// has the name of the holder's. doc.go says what it takes in unfair mode.
func (l *Lock) breakTerm(ctx context.Context, s *session, token uint64) error {
	head, _, err := l.line(ctx, s)
	switch {
	case err != nil:
		return err
	case head == nil || head.token() != token:
		return errOver
	case head.path == l.lock:
		return l.breakUnfair(ctx, s, token)
	}
	_, err = s.transact(ctx, &zk.DeleteRequest{Path: head.path, Version: -1})
	return lostOr(err)
}

func (l *Lock) breakUnfair(ctx context.Context, s *session, token uint64) error {
	old, err := s.find(ctx, l.recordPath())
	if err != nil {
		return err
	}
	kept, version, err := l.claim(ctx, s, token, old)
	if err != nil {
		return err
	}
	_, err = s.transact(ctx,
		&zk.DeleteRequest{Path: l.lock, Version: version},
		&zk.CheckVersionRequest{Path: kept.path, Version: kept.stat.Version})
	return lostOr(err)
}

var _ locks.Breaker = (*Lock)(nil)
