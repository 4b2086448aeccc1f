package lockstest

import (
	"context"
	"time"
)

// holds returns a function that reports whether the lock is held with k's token, as seen
// by another handle.
func (k *contender) holds(as *contender) func() bool {
	return func() bool { st := as.state(); return st.Held && st.Token == k.grant.Token }
}

func (k *contender) seesNobody() bool { return !k.state().Held }

// watchReports follows a lock through its life with a handle that never acquires.
func watchReports(e *env) {
	w := e.open("watcher")
	f := w.follows(false)
	a := e.open("a")
	f.settle()
	a.hold()
	f.awaits("a new holder", a.holds(w))
	a.keep()
	f.settle()
	a.release()
	f.awaits("a release", w.seesNobody)
	f.settle()
	b := e.open("b")
	b.hold()
	f.awaits("the next holder", b.holds(w))
	if e.c.TTL > 0 {
		f.settle()
		c := e.open("after the end of a lease").campaign()
		c.won(b.grant.TTL + e.late())
		c.k.keep()
		f.awaits("a takeover", c.k.holds(w))
		b = c.k
	}
	f.settle()
	b.release()
	f.awaits("the last release", w.seesNobody)
	f.cancel()
	e.free()
}

// watchReportsWaiters lets waiters come and go.
func watchReportsWaiters(e *env) {
	w := e.open("watcher")
	a := e.open("a")
	a.hold()
	a.keep()
	f := w.follows(false)
	waiting := func(n int) func() bool { return func() bool { return len(w.state().Queue) == n } }
	f.settle()
	b := e.open("b").campaign()
	b.queued()
	f.awaits("a waiter that came", waiting(1))
	f.settle()
	c := e.open("c").campaign()
	c.queued()
	f.awaits("another waiter", waiting(2))
	f.settle()
	c.cancel()
	c.ended(e.prompt)
	f.awaits("a waiter that left", waiting(1))
	f.settle()
	a.release()
	b.won(e.prompt + e.c.Polling)
	b.k.keep()
	f.awaits("a waiter that has the lock", b.k.holds(w))
	b.k.release()
}

func watchReportsEviction(e *env) {
	w := e.open("watcher")
	a := e.open("a")
	a.hold()
	f := w.follows(false)
	f.settle()
	e.evict()
	f.awaits("an eviction", w.seesNobody)
}

// watchAll watches locks with other names, including new ones.
func watchAll(e *env) {
	w := e.openNamed(e.u, "other")
	f := w.follows(true)
	for _, name := range []string{lockName, "other", "x/y/z", "x#3"} {
		k, look := e.openNamed(e.u, name), e.openNamed(e.u, name)
		f.settle()
		k.hold()
		k.keep()
		f.awaits("a new holder of "+name, k.holds(look))
		f.settle()
		k.release()
		f.awaits("a release of "+name, look.seesNobody)
	}
}

// watchIgnoresRenewals renews many times more often than the lock changes.
func watchIgnoresRenewals(e *env) {
	w := e.open("watcher")
	a := e.open("a")
	a.hold()
	f := w.follows(false)
	f.settle()
	const renewals = 8
	reported := 0
	for range renewals {
		if err := a.renew(); err != nil {
			e.Fatalf("renew: %v", err)
		}
		select {
		case <-f.changed:
			reported++
		case <-time.After(e.interval()):
		}
	}
	if reported > renewals/2 {
		e.Errorf("%d renewals caused %d reported changes", renewals, reported)
	}
	a.release()
}

// watchDuringAcquire watches with a handle that waits, and then leads.
func watchDuringAcquire(e *env) {
	a := e.open("a")
	a.hold()
	stop := a.keep()
	b := e.open("b")
	c := b.campaign()
	c.queued()
	f := b.follows(false)
	f.settle()
	_ = stop()
	a.release()
	c.won(e.prompt + e.c.Polling)
	b.keep()
	f.awaits("the end of the wait", b.holds(b))
	if err := b.renew(); err != nil && e.c.TTL > 0 {
		e.Errorf("renew during a watch: %v", err)
	}
	f.cancel()
	f.ends("after its context")
	b.sees(b)
	b.release()
	e.free()
}

// watchEnds checks that a watch ends with its context, after which the handle can watch
// again, and with the handle.
func watchEnds(e *env) {
	w := e.open("watcher")
	for _, all := range []bool{false, true} {
		f := w.follows(all)
		f.cancel()
		f.ends("after its context")
	}
	f := w.follows(false)
	f.settle()
	a := e.open("a")
	a.hold()
	f.awaits("a change, with the next watch", a.holds(w))
	if err := w.Close(); err != nil {
		e.Errorf("close during a watch: %v", err)
	}
	f.ends("after Close")
	a.release()
}

// watchThroughCut changes the lock while the watcher is cut off.
func watchThroughCut(e *env, how Cut) {
	w := e.open("cut off")
	f := w.follows(false)
	a := e.openWith(e.twin(), e.longer("a"))
	f.settle()
	heal := e.sever(e.u, how)
	a.hold()
	a.keep()
	pause(max(e.c.TTL/2, e.wakes))
	heal()
	e.eventually(e.prompt+e.late()+e.c.WatchDelay, "a change during a cut is reported", func() bool {
		select {
		case _, goesOn := <-f.changed:
			if !goesOn { // the watch could not continue, and reports that
				f = w.follows(false)
			}
			ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
			defer cancel()
			st, err := w.inspect(ctx)
			return err == nil && st.Held && st.Token == a.grant.Token
		default:
			return false
		}
	})
	f.cancel()
	a.release()
}
