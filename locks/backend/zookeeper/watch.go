package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// Who watches has a session of its own, on a connection that the library has no
// part in: it knows only watches of single nodes that fire once. Since 3.6 a server
// can watch a node and all below it, until the connection ends; that is a lock in
// whichever mode, or, from the chroot on, all locks.
//
// This session is nobody's lease, so it is kept alive by pings.

// Watch implements [queue.Watcher].
func (l *lock) Watch(ctx context.Context, all bool, begun, tell func()) error {
	w := &watcher{lock: l, link: l.newLink(), path: l.node, tell: tell}
	if all {
		w.path = l.settings.chroot
	}
	conn, err := w.begin(ctx)
	if err == nil {
		begun()
	}
	for err == nil {
		w.follow(ctx, conn)
		conn, err = w.resume(ctx, conn)
	}
	if w.workers.Go(func(context.Context) { w.leave(conn) }) != nil {
		w.leave(conn)
	}
	if errors.Is(err, errUnknown) {
		err = &locks.UsageError{What: "the server cannot tell of changes, as ZooKeeper can since 3.6"}
	}
	return err
}

// newLink prepares a session that the library has no part in.
func (l *lock) newLink() *link { return newLink(l.settings, l.o.TTL, l.o.ConnectTimeout, l.log) }

// A watcher is one Watch.
type watcher struct {
	*lock
	link *link // used by Watch alone
	path string
	tell func()
}

// begin begins to watch, within the connect timeout.
func (w *watcher) begin(ctx context.Context) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, w.o.ConnectTimeout)
	defer cancel()
	return w.connect(limited, func(error) bool { return w.link.vain })
}

// resume begins again after a connection has ended. What has changed meanwhile is
// not known.
func (w *watcher) resume(ctx context.Context, old net.Conn) (net.Conn, error) {
	if ctx.Err() != nil {
		return old, ctx.Err()
	}
	_ = old.Close()
	conn, err := w.connect(ctx, func(err error) bool { return errors.Is(err, errUnknown) })
	if err != nil {
		w.log.DebugContext(ctx, "cannot go on watching", "err", err)
		return nil, err
	}
	w.tell()
	return conn, nil
}

// connect tries one address after the other, until one of them watches, ctx ends or
// an error is hopeless.
func (w *watcher) connect(ctx context.Context, hopeless func(error) bool) (net.Conn, error) {
	pause := new(backoff.Backoff)
	for {
		e := w.link.endpoint(ctx)
		conn, err := w.try(ctx, e)
		if err == nil {
			w.link.change(func() { w.link.tour.settle(e) })
			return conn, nil
		}
		w.log.DebugContext(ctx, "cannot watch", "server", e.String(), "err", err)
		w.link.failed(err) // the next one's turn
		if errors.Is(err, errExpired) {
			w.link = w.newLink()
		}
		if hopeless(err) || pause.Wait(ctx) != nil {
			return nil, err
		}
	}
}

// try has a server watch.
func (w *watcher) try(ctx context.Context, e endpoint) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, w.link.share())
	defer cancel()
	c, err := w.link.attempt(ctx, e)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Conn.Close() })
	defer stop()
	err = authenticate(c.Conn, w.link.users.now())
	if err == nil {
		const recursive = 1 // AddWatchMode.PERSISTENT_RECURSIVE
		err = call(c.Conn, xidCall, opAddWatch, binary.BigEndian.AppendUint32(withText(nil, w.path), recursive))
	}
	if err == nil {
		return c.Conn, nil
	}
	_ = c.Conn.Close()
	if ctx.Err() != nil {
		err = errSilent
	}
	return nil, err
}

// follow tells of changes until the connection or ctx ends.
func (w *watcher) follow(ctx context.Context, conn net.Conn) {
	patience := max(w.o.ConnectTimeout, time.Second)
	every := min(w.link.session().timeout/3, patience)
	pings := time.NewTicker(every)
	defer pings.Stop()
	heard, ended := make(chan struct{}, 1), make(chan struct{})
	err := w.workers.Go(func(context.Context) {
		defer close(ended)
		listen(conn, every+patience, heard)
	})
	if err != nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		case <-heard:
			w.tell()
		case <-pings.C:
			_, _ = conn.Write(request(xidPing, opPing, nil)) // if it fails, so does reading
		}
	}
}

// listen reads until the connection ends, or is silent for that long. Events that
// nobody has heard yet are one.
func listen(conn net.Conn, silence time.Duration, heard chan<- struct{}) {
	for {
		_ = conn.SetReadDeadline(time.Now().Add(silence))
		p, _, err := readPacket(conn)
		if err != nil {
			return
		}
		if xid, _ := outcome(p); xid == xidEvent {
			workers.Poke(heard)
		}
	}
}

// leave closes the session, as a release does: on a connection of its own.
func (w *watcher) leave(conn net.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), undoTimeout)
	defer cancel()
	if err := w.link.closeSession(ctx); err != nil {
		w.log.Debug("cannot close a session; it will expire", "err", err)
	}
	if conn != nil {
		_ = conn.Close()
	}
}
