package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/record"
)

// A request to the holder is a persistent node beside the lock's, as the record
// is: whoever asks need not stay. The holder deletes it when it has read it, and
// a later holder what an earlier one has left.
func (l *Lock) askPath() string { return l.lock + "%ask" }

// Ask implements [locks.Asker].
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	const op = "ask the holder"
	if err := locks.CheckText(text); err != nil {
		return l.usage(op, err)
	}
	request := record.NewRequest(token, text)
	_, err := aside(ctx, l, func(ctx context.Context, s *session) (struct{}, error) {
		return struct{}{}, again(ctx, func() error { return l.ask(ctx, s, token, request) })
	})
	if err != nil {
		return l.fail(ctx, op, err)
	}
	return nil
}

// ask leaves a request if the node with that token leads. Should another's have
// got its path meanwhile, that will find the request stale.
func (l *Lock) ask(ctx context.Context, s *session, token uint64, request []byte) error {
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

// Asked implements [locks.Asker].
func (l *Lock) Asked() <-chan []byte { return l.asked }

var _ locks.Asker = (*Lock)(nil)
