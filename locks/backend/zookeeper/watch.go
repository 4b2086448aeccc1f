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

// A watcher has a separate session, on a connection without the library, which has only
// watches of single nodes that fire once. Since 3.6 a server can watch a node and all nodes
// below it, until the connection ends: this is a lock in either mode, or, for the chroot,
// all locks.
//
// This session is not a lease, so pings keep it alive.

// Watch implements [queue.Store].
func (l *lock) Watch(ctx context.Context, all bool, begun, changed func()) error {
	w := &watcher{lock: l, connector: l.newConnector(), path: l.node, changed: changed}
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
	if w.lock.workers.Go(func(context.Context) { w.leave(conn) }) != nil {
		w.leave(conn)
	}
	if errors.Is(err, errUnknown) {
		err = &locks.UsageError{What: "the server cannot report changes; ZooKeeper 3.6 or later can"}
	}
	return err
}

// newConnector prepares a session without the library.
func (l *lock) newConnector() *connector {
	return newConnector(l.settings, l.o.TTL, l.o.ConnectTimeout, l.log)
}

// A watcher is one call of Watch.
type watcher struct {
	lock      *lock
	connector *connector // only Watch uses it
	path      string
	changed   func()
}

// begin starts to watch, within the connect timeout.
func (w *watcher) begin(ctx context.Context) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, w.lock.o.ConnectTimeout)
	defer cancel()
	return w.connect(limited, func(error) bool { return w.connector.allRefused })
}

// resume starts again after a connection has ended. It reports a change, because there may
// have been one.
func (w *watcher) resume(ctx context.Context, old net.Conn) (net.Conn, error) {
	if ctx.Err() != nil {
		return old, ctx.Err()
	}
	_ = old.Close()
	conn, err := w.connect(ctx, func(err error) bool { return errors.Is(err, errUnknown) })
	if err != nil {
		w.lock.log.DebugContext(ctx, "can no longer watch the locks", "err", err)
		return nil, err
	}
	w.changed()
	return conn, nil
}

// connect tries one address after the other, until a server watches, ctx ends or
// an error is hopeless.
func (w *watcher) connect(ctx context.Context, hopeless func(error) bool) (net.Conn, error) {
	pause := new(backoff.Backoff)
	for {
		e := w.connector.endpoint(ctx)
		conn, err := w.try(ctx, e)
		if err == nil {
			w.connector.change(func() { w.connector.rotation.settle(e) })
			return conn, nil
		}
		w.lock.log.DebugContext(ctx, "cannot watch", "server", e.String(), "err", err)
		w.connector.failed(err) // moves on to the next address
		if errors.Is(err, errExpired) {
			w.connector = w.lock.newConnector()
		}
		if hopeless(err) || pause.Wait(ctx) != nil {
			return nil, err
		}
	}
}

// try makes a server watch.
func (w *watcher) try(ctx context.Context, e endpoint) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, w.connector.share())
	defer cancel()
	c, err := w.connector.attempt(ctx, e)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Conn.Close() })
	defer stop()
	err = authenticate(c.Conn, w.connector.users.now())
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

// follow reports changes until the connection or ctx ends.
func (w *watcher) follow(ctx context.Context, conn net.Conn) {
	patience := max(w.lock.o.ConnectTimeout, time.Second)
	every := min(w.connector.session().timeout/3, patience)
	pings := time.NewTicker(every)
	defer pings.Stop()
	heard, ended := make(chan struct{}, 1), make(chan struct{})
	err := w.lock.workers.Go(func(context.Context) {
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
			w.changed()
		case <-pings.C:
			_, _ = conn.Write(request(xidPing, opPing, nil)) // if this fails, so does reading
		}
	}
}

// listen reads until the connection ends, or is silent for that long. It merges events that
// were not yet received.
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

// leave closes the session, and the connection.
func (w *watcher) leave(conn net.Conn) {
	w.connector.tryCloseSession()
	if conn != nil {
		_ = conn.Close()
	}
}
