package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// closeSession closes the session of a connector that has ended, on a separate
// connection: the library cannot report whether it has closed a session, nor try again.
// It also succeeds if the session no longer exists.
func (c *connector) closeSession(ctx context.Context) error {
	c.mu.Lock()
	t := c.info
	c.deadline, _ = ctx.Deadline()
	c.mu.Unlock()
	if t.id == 0 {
		return nil
	}
	var lastErr error
	for pause := new(backoff.Backoff); ; c.change(c.rotation.next) {
		err := c.closeAt(ctx, c.endpoint(ctx), &t)
		if err == nil {
			return nil
		}
		if lastErr == nil || ctx.Err() == nil {
			lastErr = err
		}
		if pause.Wait(ctx) != nil {
			return lastErr
		}
	}
}

// tryCloseSession closes the session if it can do so soon. Otherwise the session expires.
func (c *connector) tryCloseSession() {
	ctx, cancel := context.WithTimeout(context.Background(), undoTimeout)
	defer cancel()
	if err := c.closeSession(ctx); err != nil {
		c.log.Debug("cannot close a session; it will expire", "err", err)
	}
}

func (c *connector) closeAt(ctx context.Context, e endpoint, t *sessionInfo) error {
	ctx, cancel := backoff.Try(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, c.share())
	defer cancel()
	return withConn(ctx, e, c.tls, func(conn net.Conn) error { return closeOver(conn, t, c.users.now()) })
}

// closeOver resumes a session on a new connection, and closes it. With
// enforce.auth.enabled, servers refuse even this without a login.
func closeOver(conn net.Conn, t *sessionInfo, users []string) error {
	answer, _, err := resume(conn, t, 0)
	switch {
	case err != nil:
		return err
	case answer.id == 0:
		return nil // it has ended
	case answer.id != t.id:
		return errors.New("the server answered for another session")
	}
	if err := authenticate(conn, users); err != nil {
		return err
	}
	if err := call(conn, xidCall, opCloseSession, nil); err != nil {
		return fmt.Errorf("the server did not close the session: %w", err)
	}
	return nil
}
