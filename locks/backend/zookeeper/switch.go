package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"
)

// A server logs a warning, with a stack trace in 3.8, for each client that
// closes a connection and not its session. But when it is asked to resume a
// session which it serves on another connection, it closes that one itself, and
// says nothing. So a renewal resumes the session beside the connection that
// there is, with the same server, and leaves the closing to that. The library
// reads the end of the old connection, and is given the new one when it dials.
//
// Servers keep one connection for each session in mind, and forget it when
// another one of that session ends after it has come (3.8:
// ServerCnxnFactory.removeCnxnFromSessionMap asks for the session only). One that
// has forgotten ours does not close it. Then we do, and the next renewal breaks
// the connection first, as it does after a failure: so the server has but one
// to mind again.

// closeTimeout is how long a server may take to close the old connection, which
// it does before it answers on the new one.
const closeTimeout = 250 * time.Millisecond

// renewConnection has a connection made that resumes the session after the call,
// and returns the number that it will be above. With another, it goes to another
// server. If it fails, connecting goes on elsewhere.
func (l *link) renewConnection(ctx context.Context, another bool) (before int) {
	limited, abort := context.WithCancel(ctx)
	defer abort()
	old, before := l.beside(abort, another)
	if old == nil {
		return l.reconnect(another)
	}
	w, err := l.attempt(limited, old.at)
	if err == nil {
		err = l.offer(limited, w)
	}
	if err == nil {
		time.AfterFunc(closeTimeout, func() { l.abandon(old) })
		return before
	}
	if ctx.Err() == nil {
		l.log.Debug("cannot connect anew", "server", old.at.String(), "err", err)
		l.failed(err)
	}
	return l.reconnect(false)
}

// beside begins an attempt to connect beside the connection that there is, and
// returns that; nil: that cannot be.
func (l *link) beside(abort func(), another bool) (old *wire, before int) {
	l.change(func() {
		if l.wire == nil || l.abort != nil || l.ready != nil || l.unknown || another || l.over != nil {
			l.unknown = false
			return
		}
		old, before = l.wire, l.serial
		l.abort = abort
	})
	return old, before
}

// offer has the library take a connection when it dials next.
func (l *link) offer(ctx context.Context, w *wire) (err error) {
	l.change(func() {
		if err = cmp.Or(l.over, ctx.Err()); err == nil {
			l.ready, l.abort = w, nil
		}
	})
	if err != nil {
		_ = w.Conn.Close()
	}
	return err
}

// take publishes the connection that is ready, if there is one.
func (l *link) take() (w *wire) {
	l.change(func() {
		if w = l.ready; w != nil {
			l.connected(w)
		}
	})
	return w
}

// abandon closes a connection, and notes whether the server should have done so.
func (l *link) abandon(w *wire) {
	if err := w.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		l.change(func() { l.unknown = l.over == nil })
	}
}
