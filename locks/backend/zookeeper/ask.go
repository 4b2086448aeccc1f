package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// A request to the holder is a persistent node next to the lock's, like the record, so the
// sender need not stay. The holder deletes the node when it has read it, and a later
// holder deletes what an earlier one has left.
func (l *lock) askPath() string { return l.node + "%ask" }

// Ask implements [queue.Store].
func (l *lock) Ask(ctx context.Context, token uint64, request []byte) error {
	return l.edit(ctx, func(ctx context.Context, s *session) error { return l.ask(ctx, s, token, request) })
}

// ask writes a request if the node with that token leads. If another's node has the same
// path by then, its holder finds that the request is for an earlier term.
func (l *lock) ask(ctx context.Context, s *session, token uint64, request []byte) error {
	head, _, err := l.line(ctx, s)
	if err != nil || head == nil || head.token() != token {
		return err
	}
	old, err := s.find(ctx, l.askPath())
	if err != nil {
		return err
	}
	_, err = s.transact(ctx, &zk.CheckVersionRequest{Path: head.path, Version: -1}, s.put(l.askPath(), old, request))
	if errors.Is(asLoss(err), errDeleted) {
		return nil // the holder has released the lock
	}
	return err
}
