package lockstest

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// cuts returns the tests of each way of cutting.
func cuts() []test {
	var all []test
	for _, how := range []Cut{CutReplies, CutAll, CutReset} {
		named := func(name string, run func(*env, Cut), needs ...need) {
			all = append(all, test{name: name + "/" + string(how), run: func(e *env) { run(e, how) }, needs: append(needs, needCut)})
		}
		named("PartitionEndsLease", partitionEndsLease, needTTL)
		named("ShortCutCostsNothing", shortCutCostsNothing, needTTL)
		named("ReleaseDuringWaitersCut", releaseDuringWaitersCut, needTTL, needTwin)
		named("LongCutEndsPlace", longCutEndsPlace, needTTL, needPlaces, needTwin)
		named("RequestsDuringCut", requestsDuringCut, needTTL)
		named("Unreachable", unreachable)
		if how != CutReplies { // which are two ways to be down
			named("OutageIsNoRefusal", outageIsNoRefusal, needTTL)
			all[len(all)-1].recipe = true
		}
		named("WatchThroughCut", watchThroughCut, able(locks.CanWatch), able(locks.CanInspect), needTwin)
		named("AskThroughCut", askThroughCut, able(locks.CanAsk), needTTL, needTwin)
		named("ProbeUnreachable", probeUnreachable, able(locks.CanProbe))
	}
	return all
}

// sever cuts the network of u until heal is called, or until the test ends.
func (e *env) sever(u *url.URL, how Cut) (heal func()) {
	e.Helper()
	e.unwatched(func() { heal = sync.OnceFunc(e.c.Cut(e.TB, u, how)) })
	e.Cleanup(heal)
	return heal
}

// twin returns another address of the store, if there is one.
func (e *env) twin() *url.URL {
	if e.c.Twin == nil {
		return e.u
	}
	var u *url.URL
	e.unwatched(func() { u = e.c.Twin(e.TB, e.u) })
	e.witness.alias(e.u, u)
	return u
}

// partitionEndsLease cuts a holder off. Its lease must end by the deadline it had, and a
// waiter on the other side must get the lock after that, not before.
func partitionEndsLease(e *env, how Cut) {
	k := e.open("cut off")
	l := k.lease(k)
	var b *campaign
	if e.c.Twin != nil {
		b = e.openWith(e.twin(), e.options("waiter")).campaign()
		b.queued()
	}
	pause(e.c.TTL / 2)
	e.alive(l)
	heal := e.sever(e.u, how)
	cut := e.now()
	_ = e.lost(l, e.deadlineOf(l).Sub(e.now())+e.stall)
	ended, d := e.now(), e.deadlineOf(l)
	e.Logf("cut %v before the deadline; the lease ended %v after it", d.Sub(cut), ended.Sub(d))
	if b == nil {
		heal()
		b = e.open("waiter").campaign()
	}
	// The last renewal may have reached the server just before the deadline.
	b.won(2*k.o.TTL + e.late() + e.prompt)
	if b.at < d {
		e.Errorf("the waiter got the lock %v before the holder's deadline", d.Sub(b.at))
	}
	heal()
	stop := b.k.keep()
	k.end(l)
	e.openWith(e.twin(), e.options("third")).refused()
	if err := k.renew(); err == nil {
		e.Error("the former holder renewed")
	}
	if err := stop(); err != nil {
		e.Errorf("the new holder lost the lock: %v", err)
	}
	b.k.release()
	e.free()
}

// longer returns options with a lease of which the usual TTL is a part. Where that is long
// already, it is the half.
func (e *env) longer(holder string) locks.Options {
	o := e.options(holder)
	switch {
	case e.c.MaxTTL > 0:
		o.TTL = 2 * e.c.TTL
	case e.c.TTL > 0:
		o.TTL = 4 * e.c.TTL
	}
	return o
}

// shortCutCostsNothing cuts off the holder and a waiter together.
func shortCutCostsNothing(e *env, how Cut) {
	a := e.openWith(e.u, e.longer("holder"))
	l := a.lease(a)
	b := e.openWith(e.u, e.longer("waiter")).campaign()
	b.queued()
	heal := e.sever(e.u, how)
	pause(a.o.TTL / 4)
	heal()
	pause(a.o.TTL)
	e.alive(l)
	if !b.pending() {
		e.Fatalf("the waiter's Acquire has ended: %+v, %v", b.grant, b.err)
	}
	if err := l.Release(e.patient()); err != nil {
		e.Errorf("release: %v", err)
	}
	b.won(e.prompt + e.c.Polling)
	b.k.release()
	e.free()
}

// releaseDuringWaitersCut frees the lock while the waiter cannot be notified.
func releaseDuringWaitersCut(e *env, how Cut) {
	a := e.openWith(e.twin(), e.longer("holder"))
	a.hold()
	b := e.openWith(e.u, e.longer("waiter")).campaign()
	b.queued()
	heal := e.sever(e.u, how)
	a.release()
	pause(e.c.TTL)
	heal()
	b.won(b.k.o.TTL + e.late())
	if err := b.k.renew(); err != nil {
		e.Errorf("renew: %v", err)
	}
	b.k.release()
	e.free()
}

// longCutEndsPlace cuts off a waiter for longer than its place lasts. It must not get the
// lock then, and must not keep others from getting it.
func longCutEndsPlace(e *env, how Cut) {
	a := e.openWith(e.twin(), e.options("holder"))
	a.hold()
	stop := a.keep()
	b := e.open("cut off").campaignRenewing(false)
	b.queued()
	c := e.openWith(e.twin(), e.options("waiter")).campaign()
	c.queued()
	heal := e.sever(e.u, how)
	pause(e.c.TTL + e.late())
	_ = stop()
	a.release()
	c.won(e.prompt + e.c.Polling)
	heal()
	b.ended(e.patience)
	if b.err == nil {
		e.Errorf("the waiter's place ended, and it was granted %+v", b.grant)
	} else if !errors.Is(b.err, locks.ErrLost) {
		e.Errorf("Acquire after the end of its place in the queue: got %v; want ErrLost", b.err)
	}
	c.k.release()
	e.free()
}

// unreachable cuts the network before anything was sent over it.
func unreachable(e *env, how Cut) {
	heal := e.sever(e.u, how)
	for _, try := range []bool{true, false} {
		o := e.options("cut off")
		o.ConnectTimeout = time.Second
		start := e.now()
		g, err := e.acquireUnreachable(o, try)
		if took := e.now().Sub(start); took > o.ConnectTimeout+e.prompt {
			e.Errorf("try=%v: the answer took %v with a connect timeout of %v", try, took, o.ConnectTimeout)
		}
		if !errors.Is(err, locks.ErrUnavailable) || errors.Is(err, locks.ErrHeld) || errors.Is(err, locks.ErrLost) {
			e.Errorf("try=%v: got %+v, %v; want ErrUnavailable", try, g, err)
		}
	}
	heal()
	b := e.open("after the cut").campaign()
	b.won(e.c.TTL + e.late() + e.prompt)
	b.k.release()
	e.eventually(e.c.TTL+e.late(), "nothing is left", func() bool { return len(e.leftovers()) == 0 })
}

func (e *env) acquireUnreachable(o locks.Options, try bool) (locks.Grant, error) {
	k, err := e.tryOpen(e.u, o)
	if err != nil {
		return locks.Grant{}, err
	}
	defer k.Close()
	ctx, cancel := context.WithTimeout(context.Background(), o.ConnectTimeout+2*e.prompt)
	defer cancel()
	return k.Acquire(ctx, try)
}
