package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// closeSession has the servers close the session of a link that has ended, on
// a connection of its own: the library can neither say whether it has closed
// one nor try again. It is done, too, if there is no such session any more.
func (l *link) closeSession(ctx context.Context) error {
	l.mu.Lock()
	t := l.ticket
	l.patient, _ = ctx.Deadline()
	l.mu.Unlock()
	if t.id == 0 {
		return nil
	}
	var lastErr error
	for pause := new(backoff.Backoff); ; l.change(l.tour.next) {
		err := l.closeAt(ctx, l.endpoint(ctx), &t)
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

func (l *link) closeAt(ctx context.Context, e endpoint, t *ticket) error {
	ctx, cancel := context.WithTimeout(ctx, l.share())
	defer cancel()
	return dialog(ctx, e, l.tls, func(conn net.Conn) error { return closeOver(conn, t, l.users.now()) })
}

// closeOver resumes a session on a fresh connection and closes it. Some servers
// take nothing from users whom they do not know, not even that
// (enforce.auth.enabled).
func closeOver(conn net.Conn, t *ticket, users []string) error {
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
