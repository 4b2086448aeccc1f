package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"
)

// dial implements zk.Dialer. It ignores the library's choice of a server, and returns a
// connection that has the session.
func (c *connector) dial(string, string, time.Duration) (net.Conn, error) {
	if !c.awaitWanted() {
		return nil, c.endCause()
	}
	w := c.takeReady()
	if w == nil {
		var err error
		if w, err = c.connect(); err != nil {
			return nil, err
		}
	}
	c.limit(usualResponse)
	return w, nil
}

// connect connects to the next address.
func (c *connector) connect() (*sessionConn, error) {
	ctx, abort := context.WithCancel(context.Background())
	defer abort()
	slow, round := c.beginAttempt(abort)
	if slow && round && c.pause.Wait(ctx) != nil {
		return nil, context.Canceled // another attempt is wanted at once
	}
	if !slow {
		c.pause.Reset()
	}
	e := c.endpoint(ctx)
	w, err := c.attempt(ctx, e)
	if err == nil {
		err = c.publish(ctx, w)
	}
	if err == nil {
		return w, nil
	}
	if ctx.Err() == nil {
		c.log.Debug("cannot connect", "server", e.String(), "err", err)
		c.failed(err)
	}
	return nil, err
}

// awaitWanted waits until a connection is ready, or one is wanted and nobody else makes one.
// It returns false if there will be no more connections.
func (c *connector) awaitWanted() (ok bool) {
	_ = c.until(context.Background(), func() bool {
		ok = c.ended == nil
		return !ok || c.ready != nil || c.wanted > 0 && c.abort == nil
	})
	return ok
}

// beginAttempt notes an attempt. It returns whether to pause before the next round, and
// whether a round begins now.
func (c *connector) beginAttempt(abort func()) (slow, round bool) {
	c.change(func() { c.abort, slow, round = abort, c.slow, len(c.rotation.left) == 0 })
	return slow, round
}

// endpoint returns the next address. If the round has no more, it begins another.
func (c *connector) endpoint(ctx context.Context) (e endpoint) {
	for {
		c.change(func() {
			if len(c.rotation.left) > 0 {
				e, c.rotation.begun = c.rotation.left[0], true
			}
		})
		if e.addr != "" {
			return e
		}
		limited, cancel := context.WithTimeout(ctx, c.share())
		found := lookUp(limited, c.rotation.servers)
		cancel()
		if err := ctx.Err(); err != nil {
			return endpoint{err: err}
		}
		c.change(func() { c.rotation.round(found) })
	}
}

// share returns how long an attempt may take. If there are other addresses, a silent one
// leaves enough time for them, and half of the time that a renewal has left.
func (c *connector) share() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rotation.size == 1 {
		return c.timeout
	}
	d := c.timeout / time.Duration(max(4, c.rotation.size+1))
	if left := time.Until(c.deadline); left > 0 {
		d = min(d, max(left/2, shortestShare))
	}
	return d
}

// shortestShare is long enough for a server nearby.
const shortestShare = 50 * time.Millisecond

// attempt connects to an address, and resumes the session, or begins it.
func (c *connector) attempt(ctx context.Context, e endpoint) (*sessionConn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.share())
	defer cancel()
	conn, err := dialServer(ctx, e, c.tls)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	c.mu.Lock()
	t, zxid := c.info, c.zxid
	t.timeout = c.asked
	c.mu.Unlock()
	answer, raw, err := resume(conn, &t, zxid)
	if err == nil {
		err = c.granted(answer)
	}
	if err == nil {
		return newSessionConn(conn, e, c, raw), nil
	}
	_ = conn.Close()
	if ctx.Err() != nil {
		err = errSilent
	}
	return nil, err
}

var errSilent = errors.New("the server accepts the connection but does not answer")

// granted notes what a server has granted. One with a lower limit than others grants less, which
// must not be asked of the others from then on.
func (c *connector) granted(t *sessionInfo) (err error) {
	c.change(func() {
		if c.info.id != 0 && t.id != c.info.id {
			err = errExpired
			c.finish(err)
		} else if t.id == 0 {
			err = errors.New("the server granted no session")
		} else {
			if c.info.id == 0 {
				c.asked = t.timeout
			}
			c.info = *t
		}
	})
	return err
}

// publish makes w the current connection, unless it is no longer wanted.
func (c *connector) publish(ctx context.Context, w *sessionConn) (err error) {
	c.change(func() {
		if err = cmp.Or(c.ended, ctx.Err()); err == nil {
			c.connected(w)
		}
	})
	if err != nil {
		_ = w.Conn.Close()
	}
	return err
}

// connected is called with c.mu held.
func (c *connector) connected(w *sessionConn) {
	c.conn, c.ready, c.abort, c.failure, c.slow, c.refused, c.allRefused = w, nil, nil, nil, false, 0, false
	c.rotation.settle(w.at)
	c.serial++
}

// failed notes that an attempt to connect failed.
func (c *connector) failed(err error) {
	c.change(func() {
		if !temporary(err) {
			c.refused++
		}
		c.abort, c.failure, c.slow = nil, err, true
		c.rotation.next()
		if len(c.rotation.left) == 0 {
			c.allRefused, c.refused = c.refused >= c.rotation.size, 0
		}
	})
}

// temporary reports whether the next attempt may succeed: a server that is starting, or
// has briefly no quorum, closes connections at once.
func temporary(err error) bool {
	return errors.Is(err, errNotServing) || errors.Is(err, errSilent) || errors.Is(err, context.DeadlineExceeded)
}
