package lockstest

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// renewKeepsThePlace waits for longer than any lease lasts. Renewals during Acquire must
// keep the place, ahead of later waiters.
func renewKeepsThePlace(e *env) {
	a := e.open("holder")
	a.hold()
	stop := a.keep()
	b := e.open("waiter").campaign()
	b.queued()
	pause(e.c.TTL / 3)
	c := e.open("later").campaign()
	c.queued()
	pause(2*e.c.TTL + e.c.TTL/3)
	for _, w := range []*campaign{b, c} {
		if !w.pending() {
			e.Fatalf("%s: Acquire has ended: %v", w.k.o.Holder, w.err)
		}
	}
	if err := stop(); err != nil {
		e.Fatalf("the holder lost the lock: %v", err)
	}
	a.release()
	first, second := b, c
	if !e.c.Fair && !within(e.c.Polling+e.prompt, func() bool { return !b.pending() }) {
		first, second = c, b
	}
	first.won(e.prompt)
	if e.c.Fair && !second.pending() {
		e.Errorf("the later waiter has the lock as well: %v", second.err)
	}
	if err := first.k.renew(); err != nil {
		e.Errorf("the new holder renews: %v", err)
	}
	first.k.release()
	second.won(e.prompt + e.c.Polling)
	second.k.release()
	e.clean()
}

// placeEndsWithoutRenewal has a waiter that is as good as dead. It must not get the lock,
// nor keep it from others.
func placeEndsWithoutRenewal(e *env) {
	a := e.open("holder")
	a.hold()
	stop := a.keep()
	b := e.open("dead").campaignRenewing(false)
	b.queued()
	c := e.open("alive").campaign()
	c.queued()
	pause(e.c.TTL + e.late())
	_ = stop()
	a.release()
	c.won(e.prompt)
	c.k.release()
	b.ended(e.prompt)
	if !errors.Is(b.err, locks.ErrLost) {
		e.Errorf("Acquire after the end of its place in the queue: got %+v, %v; want ErrLost", b.grant, b.err)
	}
	e.clean()
}

// onlyRenewExtends checks that a holder that stops renewing loses the lock, even if its
// handle is open and its process healthy, but not before the time that it may rely on.
func onlyRenewExtends(e *env) {
	a := e.open("a")
	a.hold()
	b := e.open("b").campaign()
	b.queued()
	renewed := e.now()
	for e.now().Sub(renewed) < 2*e.c.TTL {
		pause(e.interval())
		if err := a.renew(); err != nil {
			e.Fatalf("renew: %v", err)
		}
	}
	if !b.pending() {
		e.Fatalf("b's Acquire has ended while a renews: %v", b.err)
	}
	g := b.won(a.grant.TTL + e.late())
	if d := a.deadline(); b.at < d {
		e.Errorf("b has the lock %v before the end of a's lease", d.Sub(b.at))
	}
	if g.Clean {
		e.Error("the grant is clean, but the previous holder did not release the lock")
	}
	if err := a.renew(); !errors.Is(err, locks.ErrLost) {
		e.Errorf("a renews after its lease has ended and b has the lock: got %v; want ErrLost", err)
	}
	if err := b.k.renew(); err != nil {
		e.Errorf("b renews: %v", err)
	}
	b.k.release()
	e.free()
}

// expiredStaysExpired renews a lease that has ended, of a lock that nobody has taken
// since. The backend must not ask even a server that would allow it.
func expiredStaysExpired(e *env) {
	a := e.open("a")
	a.hold()
	pause(a.grant.TTL + e.late())
	err := a.renew()
	if !errors.Is(err, locks.ErrLost) {
		e.Errorf("a renews a lease that ended %v ago: got %v; want ErrLost", e.late(), err)
	}
	if e.c.Observed {
		e.freeWithin(a.grant.TTL + e.late())
	} else {
		e.free()
	}
	if err := a.renew(); !errors.Is(err, locks.ErrLost) {
		e.Errorf("a renews after another's term: got %v; want ErrLost", err)
	}
}

// closeReleasesNothing checks that Close does not release, because a process that ends
// may leave a job behind.
func closeReleasesNothing(e *env) {
	a := e.open("a")
	a.hold()
	if err := a.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	b := e.open("b")
	if e.now() < a.deadline().Add(-e.c.TTL/2) { // on a slow machine it may be too late for this check
		b.refused()
	}
	c := b.campaign()
	c.won(a.grant.TTL + e.late())
	if d := a.deadline(); c.at < d {
		e.Errorf("b has the lock %v before the end of a's lease", d.Sub(c.at))
	}
	b.release()
	e.free()
}

// grantedTTL checks that a grant is not shorter than requested, and is 0 only if
// declared. The shortest and the longest possible requests must be granted.
func grantedTTL(e *env) {
	for _, ttl := range []time.Duration{1, cmp.Or(e.c.MaxTTL, 24*time.Hour)} {
		o := e.options("a")
		o.TTL = ttl
		e.eventually(e.patience, fmt.Sprintf("a lease of %v is granted", ttl), func() bool {
			k := e.openWith(e.u, o)
			g, err := k.try()
			if err != nil { // the shortest may end earlier, on a busy machine
				e.Logf("asked for a lease of %v: %v", ttl, err)
				return false
			}
			if (g.TTL > 0) != (e.c.TTL > 0) {
				e.Errorf("asked for a lease of %v; granted %v", ttl, g.TTL)
			}
			_ = k.giveUp() // it may have ended
			return true
		})
	}
	k := e.open("a")
	g := k.hold()
	if e.c.TTL == 0 && g.TTL != 0 {
		e.Errorf("granted a lease of %v, while Config.TTL is 0", g.TTL)
	}
	if e.c.TTL > 0 && g.TTL < keepalive.Trusted(e.c.TTL) {
		e.Errorf("granted a lease of %v; asked for %v", g.TTL, e.c.TTL)
	}
	if g.Token == 0 {
		e.Error("the token is 0")
	}
	k.release()
}
