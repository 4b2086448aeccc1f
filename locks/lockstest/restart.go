package lockstest

import (
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// restarts restarts the server for a holder, for a waiter, and for a token counter.
func restarts(e *env) {
	options := func(holder string) locks.Options {
		o := e.options(holder)
		if e.c.TTL > 0 { // enough for a slow start of the server
			o.TTL = max(6*e.c.TTL, 10*time.Second)
		}
		return o
	}
	ts := tokens{e: e}
	a := e.openWith(e.u, options("holder"))
	l := a.lease(a)
	ts.next(l.Grant(), "nothing")
	b := e.openWith(e.u, options("waiter")).campaign()
	b.queued()
	e.restart()
	pause(2 * e.leaseOptions(e.c.TTL).Interval)
	e.alive(l)
	if !b.pending() {
		e.Fatalf("the waiter's Acquire has ended: %+v, %v", b.grant, b.err)
	}
	if err := l.Release(e.patient()); err != nil {
		e.Errorf("release: %v", err)
	}
	ts.next(b.won(settle+e.c.Polling), "a restart and a release")
	e.restart()
	b.k.release()
	e.restart()
	k := e.openWith(e.u, options("next"))
	ts.next(k.hold(), "a restart of the server while the lock was free")
	k.release()
	e.clean()
}

func (e *env) restart() {
	e.Helper()
	e.unwatched(func() { e.c.Restart(e.TB, e.u) })
}
