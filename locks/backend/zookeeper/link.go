package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
)

// A link connects us with one session. It connects only while somebody wants
// that, because to connect renews the session. The library believes that it
// dials servers as it likes, and gets what dial has; by itself it would go on
// with another session once ours has ended.
type link struct {
	tls     *certificates // nil: no TLS
	users   *users
	timeout time.Duration // for one attempt to connect, if there is one address
	log     *slog.Logger
	library *zk.Conn
	asking  sync.RWMutex    // held by who asks the library, for reading, and by who closes it
	pause   backoff.Backoff // used by dial alone
	done    chan struct{}   // closed when there are no more connections

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something below changes
	wanted  int           // how many requests want a connection
	patient time.Time     // until when the last of them waits; zero: for ever
	tour    tour
	abort   func() // ends the attempt under way; nil: there is none
	slow    bool   // pause before the next round
	failure error  // why the last attempt failed; nil after a success
	refused int    // how many attempts of this round met an error that lasts
	vain    bool   // all of the round before did
	wire    *wire  // the connection that has the session; nil: none
	ready   *wire  // the one after it, which the library has still to take; nil: none
	unknown bool   // the server may not know that we are connected with it
	serial  int    // how many connections there have been
	ticket  ticket
	zxid    int64                   // the last transaction that we know of
	watched map[string]zk.EventType // the event that ends each watch
	owners  []string                // the users who began the session, if another process did
	shown   []string                // the users that the library makes known on each connection
	over    error                   // why there are no more connections; nil: there are
}

func newLink(s *settings, ttl, timeout time.Duration, log *slog.Logger) *link {
	return &link{
		tls: s.tls, users: s.users, timeout: timeout, log: log, done: make(chan struct{}),
		changed: make(chan struct{}), tour: newTour(s.servers), ticket: ticket{timeout: ttl}, watched: map[string]zk.EventType{},
	}
}

// dial implements zk.Dialer. It chooses the server by itself, and returns a
// connection that has the session.
func (l *link) dial(string, string, time.Duration) (net.Conn, error) {
	if !l.permitted() {
		return nil, l.whyOver()
	}
	w := l.take()
	if w == nil {
		var err error
		if w, err = l.connect(); err != nil {
			return nil, err
		}
	}
	l.limit(usualResponse)
	return w, nil
}

// connect makes a connection to the next address.
func (l *link) connect() (*wire, error) {
	ctx, abort := context.WithCancel(context.Background())
	defer abort()
	slow, round := l.begin(abort)
	if slow && round && l.pause.Wait(ctx) != nil {
		return nil, context.Canceled // another attempt is wanted at once
	}
	if !slow {
		l.pause.Reset()
	}
	e := l.endpoint(ctx)
	w, err := l.attempt(ctx, e)
	if err == nil {
		err = l.publish(ctx, w)
	}
	if err == nil {
		return w, nil
	}
	if ctx.Err() == nil {
		l.log.Debug("cannot connect", "server", e.String(), "err", err)
		l.failed(err)
	}
	return nil, err
}

// permitted waits until a connection is wanted or ready, and nobody else makes
// one; false: never again.
func (l *link) permitted() (ok bool) {
	_ = l.until(context.Background(), func() bool {
		ok = l.over == nil
		return !ok || l.ready != nil || l.wanted > 0 && l.abort == nil
	})
	return ok
}

// begin notes an attempt, and returns whether to pause before the next round, and
// whether that begins.
func (l *link) begin(abort func()) (slow, round bool) {
	l.change(func() { l.abort, slow, round = abort, l.slow, len(l.tour.left) == 0 })
	return slow, round
}

// endpoint begins the turn of an address, and a round when there is none left.
func (l *link) endpoint(ctx context.Context) (e endpoint) {
	for {
		l.change(func() {
			if len(l.tour.left) > 0 {
				e, l.tour.begun = l.tour.left[0], true
			}
		})
		if e.addr != "" {
			return e
		}
		limited, cancel := context.WithTimeout(ctx, l.share())
		found := lookUp(limited, l.tour.servers)
		cancel()
		if err := ctx.Err(); err != nil {
			return endpoint{err: err}
		}
		l.change(func() { l.tour.round(found) })
	}
}

// share is how long an attempt may take. If there are others to make, one that
// meets silence leaves enough time for them, and half of what a renewal has.
func (l *link) share() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tour.size == 1 {
		return l.timeout
	}
	d := l.timeout / time.Duration(max(4, l.tour.size+1))
	if left := time.Until(l.patient); left > 0 {
		d = min(d, max(left/2, shortestShare))
	}
	return d
}

// shortestShare is enough for a server nearby.
const shortestShare = 50 * time.Millisecond

// attempt connects to an address, and resumes the session or begins it.
func (l *link) attempt(ctx context.Context, e endpoint) (*wire, error) {
	ctx, cancel := context.WithTimeout(ctx, l.share())
	defer cancel()
	conn, err := dialServer(ctx, e, l.tls)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	l.mu.Lock()
	t, zxid := l.ticket, l.zxid
	l.mu.Unlock()
	answer, raw, err := resume(conn, &t, zxid)
	if err == nil {
		err = l.granted(answer)
	}
	if err == nil {
		return newWire(conn, e, l, raw), nil
	}
	_ = conn.Close()
	if ctx.Err() != nil {
		err = errSilent
	}
	return nil, err
}

var errSilent = errors.New("the server accepts the connection and does not answer")

// granted takes what a server says about the session.
func (l *link) granted(t *ticket) (err error) {
	l.change(func() {
		if l.ticket.id != 0 && t.id != l.ticket.id {
			err = errExpired
			l.finish(err)
		} else if t.id == 0 {
			err = errors.New("the server gave no session")
		} else {
			l.ticket = *t
		}
	})
	return err
}

// publish says that there is a connection, unless it is not wanted any more.
func (l *link) publish(ctx context.Context, w *wire) (err error) {
	l.change(func() {
		if err = cmp.Or(l.over, ctx.Err()); err == nil {
			l.connected(w)
		}
	})
	if err != nil {
		_ = w.Conn.Close()
	}
	return err
}

// connected is called with the link locked.
func (l *link) connected(w *wire) {
	l.wire, l.ready, l.abort, l.failure, l.slow, l.refused, l.vain = w, nil, nil, nil, false, 0, false
	l.tour.settle(w.at)
	l.serial++
}

// dropped notes the end of a connection.
func (l *link) dropped(w *wire) {
	l.change(func() {
		if l.wire == w {
			l.wire = nil
		}
	})
}

// watches notes that a node is about to be watched, and for what.
func (l *link) watches(path string, event zk.EventType) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watched[path] = event
}

// farewell returns events for all that may be watched.
func (l *link) farewell() (events []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for path, event := range l.watched {
		events = append(events, watchEvent(path, event)...)
	}
	return events
}

// failed notes that an attempt to connect failed.
func (l *link) failed(err error) {
	l.change(func() {
		if !passing(err) {
			l.refused++
		}
		l.abort, l.failure, l.slow = nil, err, true
		l.tour.next()
		if len(l.tour.left) == 0 {
			l.vain, l.refused = l.refused >= l.tour.size, 0
		}
	})
}

// passing reports that the next attempt may well succeed: a server that starts,
// or has no quorum for a moment, closes connections at once.
func passing(err error) bool {
	return errors.Is(err, errNotServing) || errors.Is(err, errSilent) || errors.Is(err, context.DeadlineExceeded)
}

// saw notes the latest transaction that we know of. Servers that do not know
// it yet refuse to be connected to.
func (l *link) saw(zxid int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.zxid = max(l.zxid, zxid)
}

// want allows connecting until done is called. The context only tells how long
// that will be, at most.
func (l *link) want(ctx context.Context) (done func()) {
	l.change(func() {
		l.wanted++
		l.patient, _ = ctx.Deadline()
	})
	return sync.OnceFunc(func() { l.change(func() { l.wanted-- }) })
}

// change makes a change and tells who waits for one.
func (l *link) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// until waits until ok, which is called with the link locked.
func (l *link) until(ctx context.Context, ok func() bool) error {
	for {
		l.mu.Lock()
		done, changed := ok(), l.changed
		l.mu.Unlock()
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

// await waits for a connection later than the one with the given number. If all
// servers refuse to be connected to, an impatient caller need not wait.
func (l *link) await(ctx context.Context, after int, impatient bool) error {
	var err error
	ended := l.until(ctx, func() bool {
		switch {
		case l.over != nil:
			err = l.over
		case l.wire != nil && l.serial > after:
			err = nil
		case impatient && l.vain:
			err = l.failure
		default:
			err = l.failure // if the time is up
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

// reconnect breaks the connection there is, or the attempt to make one, and
// returns its number. With another, the next attempt is made elsewhere, unless
// the one before has failed already.
func (l *link) reconnect(another bool) (serial int) {
	l.change(func() {
		if another && l.tour.begun {
			l.tour.next()
		}
		if l.abort != nil {
			l.abort()
		}
		for _, w := range []*wire{l.wire, l.ready} {
			if w != nil {
				_ = w.Conn.Close()
			}
		}
		l.abort, l.slow, l.wire, l.ready = nil, false, nil, nil
		serial = l.serial
	})
	return serial
}

// end breaks the connection for good. The session goes on until it expires.
func (l *link) end(why error) {
	l.change(func() { l.finish(why) })
	l.reconnect(false)
}

// finish is called with the link locked.
func (l *link) finish(why error) {
	if l.over == nil {
		l.over = why
		close(l.done)
	}
}

// whyOver returns why there are no more connections.
func (l *link) whyOver() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// because adds to an error of time why there was no connection.
func (l *link) because(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil || l.wire != nil || errors.Is(err, locks.ErrLost) {
		return err
	}
	return fmt.Errorf("%w (%w)", l.failure, err)
}

// resumes has the link go on with the session of another process, which knew that the
// servers had done a transaction, and had shown some users.
func (l *link) resumes(t ticket, zxid int64, users []string) {
	l.change(func() { l.ticket, l.zxid, l.owners = t, zxid, users })
}

// session returns the session as it was last granted; its id is 0 if there is
// none yet.
func (l *link) session() ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ticket
}
