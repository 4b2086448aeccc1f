package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"
)

// A server logs a warning, with a stack trace in 3.8, for each client that
// closes a connection without its session. But if a server is asked to resume a
// session that it serves on another connection, it closes that connection itself, without
// a warning. So a renewal resumes the session on a second connection to the same server,
// and lets the server close the first. The library reads the end of the old connection,
// and gets the new one when it dials.
//
// A server remembers one connection for each session, and forgets it when an older
// connection of the session ends later (3.8: ServerCnxnFactory.removeCnxnFromSessionMap
// compares only the session). A server that has forgotten our connection does not close
// it. Then we close it, and the next renewal closes the connection first, as it does after
// a failure, so that the server has one connection to remember again.

// closeTimeout is how long a server may take to close the old connection. It does so
// before it answers on the new one.
const closeTimeout = 250 * time.Millisecond

// renewConnection makes a connection that resumes the session after the call, and returns
// the number of the last one before it. If another is set, it uses another server. If it
// fails, dial continues with other addresses.
func (c *connector) renewConnection(ctx context.Context, another bool) (before int) {
	limited, abort := context.WithCancel(ctx)
	defer abort()
	old, before := c.beginSecond(abort, another)
	if old == nil {
		return c.reconnect(another)
	}
	w, err := c.attempt(limited, old.at)
	if err == nil {
		err = c.setReady(limited, w)
	}
	if err == nil {
		time.AfterFunc(closeTimeout, func() { c.closeOld(old) })
		return before
	}
	if ctx.Err() == nil {
		c.log.Debug("cannot connect again", "server", old.at.String(), "err", err)
		c.failed(err)
	}
	return c.reconnect(false)
}

// beginSecond begins an attempt to make a second connection, and returns the first. It
// returns nil if a second one is impossible.
func (c *connector) beginSecond(abort func(), another bool) (old *sessionConn, before int) {
	c.change(func() {
		if c.conn == nil || c.abort != nil || c.ready != nil || c.forgotten || another || c.ended != nil {
			c.forgotten = false
			return
		}
		old, before = c.conn, c.serial
		c.abort = abort
	})
	return old, before
}

// setReady makes w the connection that the library gets when it dials next.
func (c *connector) setReady(ctx context.Context, w *sessionConn) (err error) {
	c.change(func() {
		if err = cmp.Or(c.ended, ctx.Err()); err == nil {
			c.ready, c.abort = w, nil
		}
	})
	if err != nil {
		_ = w.Conn.Close()
	}
	return err
}

// takeReady makes the ready connection the current one, if there is one.
func (c *connector) takeReady() (w *sessionConn) {
	c.change(func() {
		if w = c.ready; w != nil {
			c.connected(w)
		}
	})
	return w
}

// closeOld closes a connection, and notes if the server has not already done so.
func (c *connector) closeOld(w *sessionConn) {
	if err := w.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		c.change(func() { c.forgotten = c.ended == nil })
	}
}
