package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// A connector makes the connections of one session. It connects only while a request
// needs a connection, because connecting renews the session. The library dials when it
// likes, and gets a connection from dial; by itself, it would continue with another session
// when ours has ended.
type connector struct {
	tls     *certificates // nil: no TLS
	users   *users
	timeout time.Duration // for one attempt to connect, if there is one address
	log     *slog.Logger
	library *zk.Conn
	asking  sync.RWMutex    // held for reading during calls of the library, and to close it
	pause   backoff.Backoff // only dial uses it
	done    chan struct{}   // closed when there are no more connections

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced when a field below changes
	wanted     int           // the number of requests that need a connection
	deadline   time.Time     // when the last of them gives up; zero: never
	rotation   rotation
	abort      func()                  // ends the current attempt to connect; nil: none
	slow       bool                    // pause before the next round
	failure    error                   // why the last attempt failed; nil after a success
	refused    int                     // the number of attempts of this round with a lasting error
	allRefused bool                    // all attempts of the last round had one
	conn       *sessionConn            // the connection that has the session; nil: none
	ready      *sessionConn            // the next one, which the library has yet to take; nil: none
	forgotten  bool                    // the server may not know our connection; see renewConnection
	serial     int                     // the number of connections so far
	info       sessionInfo             // as last granted
	asked      time.Duration           // the timeout to ask for: as granted when the session began
	zxid       int64                   // the last transaction that we know of
	watched    map[string]zk.EventType // the event that ends each watch
	owners     []string                // the users who began the session, if another process did
	loggedIn   []string                // the users that the library adds on each connection
	ended      error                   // why there will be no more connections; nil: there will
}

func newConnector(s *settings, ttl, timeout time.Duration, log *slog.Logger) *connector {
	return &connector{
		tls: s.tls, users: s.users, timeout: timeout, log: log, done: make(chan struct{}),
		changed: make(chan struct{}), rotation: newRotation(s.servers), info: sessionInfo{timeout: ttl}, asked: ttl, watched: map[string]zk.EventType{},
	}
}

// dropped notes the end of a connection.
func (c *connector) dropped(w *sessionConn) {
	c.change(func() {
		if c.conn == w {
			c.conn = nil
		}
	})
}

// noteWatch notes that a node will be watched, and the event that ends the watch.
func (c *connector) noteWatch(path string, event zk.EventType) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched[path] = event
}

// allWatchEvents returns an event for each node that may be watched.
func (c *connector) allWatchEvents() (events []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, event := range c.watched {
		events = append(events, watchEvent(path, event)...)
	}
	return events
}

// noteTransaction notes the latest transaction that we know of. Servers that do not yet
// know it refuse connections of our session.
func (c *connector) noteTransaction(zxid int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.zxid = max(c.zxid, zxid)
}

// want allows connecting until done is called. The context only bounds how long that may
// be.
func (c *connector) want(ctx context.Context) (done func()) {
	c.change(func() {
		c.wanted++
		c.deadline, _ = ctx.Deadline()
	})
	return sync.OnceFunc(func() { c.change(func() { c.wanted-- }) })
}

// change makes a change, and wakes those who wait for one.
func (c *connector) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// until waits until ok returns true. It calls ok with c.mu held.
func (c *connector) until(ctx context.Context, ok func() bool) error {
	for {
		c.mu.Lock()
		done, changed := ok(), c.changed
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// await waits for a connection after the one with the given number. If impatient is set, it
// returns an error as soon as all servers have refused us.
func (c *connector) await(ctx context.Context, after int, impatient bool) error {
	var err error
	ended := c.until(ctx, func() bool {
		switch {
		case c.ended != nil:
			err = c.ended
		case c.conn != nil && c.serial > after:
			err = nil
		case impatient && c.allRefused:
			err = c.failure
		default:
			err = c.failure // returned if ctx ends
			return false
		}
		return true
	})
	switch {
	case ended == nil:
		return err
	case err != nil:
		return fmt.Errorf("%w (%w)", err, ended)
	}
	return ended
}

// reconnect closes the current connection, or ends the attempt to make one, and returns
// its number. If another is set, the next attempt uses another address, unless the last one
// has already failed.
func (c *connector) reconnect(another bool) (serial int) {
	c.change(func() {
		if another && c.rotation.begun {
			c.rotation.next()
		}
		if c.abort != nil {
			c.abort()
		}
		for _, w := range []*sessionConn{c.conn, c.ready} {
			if w != nil {
				_ = w.Conn.Close()
			}
		}
		c.abort, c.slow, c.conn, c.ready = nil, false, nil, nil
		serial = c.serial
	})
	return serial
}

// end closes the connection, and no other is made. The session lasts until it expires.
func (c *connector) end(why error) {
	c.change(func() { c.finish(why) })
	c.reconnect(false)
}

// finish is called with c.mu held.
func (c *connector) finish(why error) {
	if c.ended == nil {
		c.ended = why
		close(c.done)
	}
}

// endCause returns why there will be no more connections, or nil.
func (c *connector) endCause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// because adds the reason for the lack of a connection to a context's error.
func (c *connector) because(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil || c.conn != nil || errors.Is(err, locks.ErrLost) {
		return err
	}
	return fmt.Errorf("%w (%w)", c.failure, err)
}

// adopt makes c continue the session of another process, which knew the transaction zxid and
// had logged in the users.
func (c *connector) adopt(t sessionInfo, zxid int64, users []string) {
	c.change(func() { c.info, c.asked, c.zxid, c.owners = t, t.timeout, zxid, users })
}

// session returns the session as it was last granted; its id is 0 before that.
func (c *connector) session() sessionInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info
}
