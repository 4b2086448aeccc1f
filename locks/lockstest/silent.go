package lockstest

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// silentConnections makes the connections that exist fall silent for good, as when a server
// behind a balancer freezes, or something in between has forgotten them.
func silentConnections(e *env) { badConnections(e, CutOld) }

// unableConnections makes the connections that exist lead to a server that cannot serve.
func unableConnections(e *env) { badConnections(e, CutUnable) }

// badConnections makes the connections that exist bad; new ones work. With the
// default lease, the holder must renew before the job would be signalled, and then the waiter,
// whose connections become bad once more, must lead within two renewals, or when it looks anyway.
func badConnections(e *env, how Cut) {
	e.c.TTL = 15 * e.stall
	a := e.open("holder")
	e.c.TTL = min(e.c.TTL, a.hold().TTL) // some servers grant less
	stop := a.keep()
	b := e.open("waiter").campaign()
	b.queued()
	e.sever(e.u, how)
	for cut := e.now(); a.deadline() < cut.Add(keepalive.Trusted(a.grant.TTL)); pause(10 * time.Millisecond) {
		if signal := a.deadline().Add(-a.grant.TTL * 7 / 15); e.now() > signal {
			e.Fatalf("%v after the connections have become bad, the holder has not renewed", e.now().Sub(cut))
		}
	}
	e.sever(e.u, how)
	if err := stop(); err != nil {
		e.Fatalf("the holder lost the lock: %v", err)
	}
	a.release()
	b.won(2*e.interval() + e.prompt + e.c.Polling + e.c.Anyway)
	b.k.release()
	e.free()
}
