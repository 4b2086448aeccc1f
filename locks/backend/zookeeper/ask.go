package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// A request to the holder is a persistent node beside the lock's, as the record
// is: whoever asks need not stay. The holder deletes it when it has read it, and
// a later holder what an earlier one has left.
func (l *lock) askPath() string { return l.node + "%ask" }

// Ask implements [queue.Store].
func (l *lock) Ask(ctx context.Context, token uint64, request []byte) error {
	return l.edit(ctx, func(ctx context.Context, s *session) error { return l.ask(ctx, s, token, request) })
}

// ask leaves a request if the node with that token leads. Should another's have
// got its path meanwhile, that will find the request stale.
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
	if errors.Is(lostOr(err), errDeleted) {
		return nil // the holder has gone
	}
	return err
}
