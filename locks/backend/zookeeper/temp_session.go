package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// withTempSession calls f with a session that is neither a contender's nor a holder's,
// within the connect timeout: each request of a session extends it, and only Renew may
// extend a lease.
func withTempSession[T any](ctx context.Context, l *lock, f func(context.Context, *session) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	for pause := new(backoff.Backoff); ; {
		v, err := useTempSession(ctx, l, f)
		if !errors.Is(err, errExpired) { // errExpired is about the temporary session
			return v, err
		}
		if pause.Wait(ctx) != nil {
			return v, errTempSession // not errExpired, which would mean that our own session has ended
		}
	}
}

var errTempSession = errors.New("the server ends the sessions of our requests")

// useTempSession calls f with a new session, and ends the session. Only Close waits for
// that end.
func useTempSession[T any](ctx context.Context, l *lock, f func(context.Context, *session) (T, error)) (v T, err error) {
	s, end, err := l.newTempSession()
	if err != nil {
		return v, err
	}
	defer end()
	defer s.want(ctx)()
	if err = s.await(ctx, 0, true); err == nil {
		err = s.login(ctx, l.settings.users.now())
	}
	if err == nil {
		v, err = f(ctx, s)
	}
	if err != nil && ctx.Err() != nil {
		err = s.because(err)
	}
	return v, err
}

// newTempSession returns a session, and the function that ends it.
func (l *lock) newTempSession() (s *session, end func(), err error) {
	if s, err = l.newSession(); err != nil {
		return nil, nil, err
	}
	ended := make(chan struct{})
	err = l.workers.Go(func(ctx context.Context) {
		select {
		case <-ended:
		case <-ctx.Done():
		}
		s.end(workers.ErrClosed)
		s.tryCloseSession()
	})
	if err != nil {
		s.end(err)
	}
	return s, func() { close(ended) }, err
}

// readBarrier ensures that later reads are no older than now: it commits a transaction
// that changes nothing, and the server that we read from answers when it knows this
// transaction. doc.go says why a sync is not enough.
func (s *session) readBarrier(ctx context.Context, path string) error {
	_, err := ask(ctx, s, func(c *zk.Conn) (struct{}, error) {
		_, err := c.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
		return struct{}{}, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil // this was also committed
	}
	return at(path, err)
}
