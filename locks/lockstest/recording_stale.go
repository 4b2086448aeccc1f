package lockstest

import (
	"context"
	"time"
)

// These tests check the promise that makes a record useful: a contender that does not
// hold the lock, or no longer holds it, cannot write it, even if it believes that it
// does, and even if its request takes long to arrive.

// recordNeedsTheLock tries to write with handles that never held the lock.
func recordNeedsTheLock(e *env) {
	k := e.open("nobody")
	if err := k.setRecord(e.patient(), "by nobody"); !isLost(err) {
		e.Errorf("a handle that never acquired sets the record of a free lock: got %v; want ErrLost", err)
	}
	k.readsNothing()
	a := e.open("a")
	a.hold()
	a.keep()
	a.writes("a's")
	k.cannotWrite("a handle that never acquired", "a's")
	b := e.open("b")
	b.refused()
	b.cannotWrite("a handle that was refused", "a's")
	c := e.open("c").campaign()
	c.queued()
	c.cancel()
	c.ended(e.prompt)
	c.k.cannotWrite("a handle that gave up waiting", "a's")
	a.release()
	a.cannotWrite("a handle that has released", "a's")
	b = e.open("b")
	b.hold()
	b.writes("b's")
	a.cannotWrite("a handle that has released a lock that is now another's", "b's")
	if err := b.renew(); err != nil && e.c.TTL > 0 {
		e.Errorf("the holder renews: %v", err)
	}
	b.release()
	a.cannotWrite("a handle whose successor has released as well", "b's")
}

// recordAfterTakeover tries to write with a handle whose lease has ended, while another
// holds the lock and after that.
func recordAfterTakeover(e *env) {
	a := e.open("a")
	a.hold()
	a.writes("a's")
	b := e.open("b").campaign()
	b.won(a.grant.TTL + e.late())
	stop := b.k.keep()
	a.cannotWrite("the former holder", "a's")
	b.k.writes("b's")
	a.cannotWrite("the former holder", "b's")
	if err := a.renew(); err == nil {
		e.Error("the former holder renewed")
	}
	a.cannotWrite("the former holder", "b's")
	if err := stop(); err != nil {
		e.Errorf("b lost the lock: %v", err)
	}
	b.k.release()
	a.cannotWrite("the former holder of a free lock", "b's")
}

// recordAfterEviction tries to write with a handle whose lock an operator has deleted.
func recordAfterEviction(e *env) {
	a := e.open("a")
	a.hold()
	e.evict()
	if err := a.setRecord(e.patient(), "a's"); !isLost(err) {
		e.Errorf("the holder of a deleted lock sets the record: got %v; want ErrLost", err)
	}
	a.readsNothing()
	b := e.open("b")
	b.hold()
	b.keep()
	b.writes("b's")
	a.cannotWrite("the holder of a deleted lock", "b's")
	b.release()
}

// recordUnderWay cuts a holder off in the middle of a SetRecord, until another has the
// lock and has written. The late request must change nothing.
func recordUnderWay(e *env) {
	a := e.open("a")
	a.hold()
	a.writes("a's")
	b := e.openWith(e.twin(), e.options("b")).campaign()
	b.queued()
	heal := e.sever(e.u, CutAll)
	late := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), e.patience)
		defer cancel()
		late <- a.setRecord(ctx, "too late")
	}()
	b.won(a.grant.TTL + e.late())
	stop := b.k.keep()
	b.k.writes("b's")
	heal()
	w := e.openWith(e.twin(), e.options("watcher"))
	select {
	case err := <-late:
		if err == nil {
			e.Error("a SetRecord that arrived after the takeover succeeded")
		}
	case <-time.After(e.patience):
		e.Error("a SetRecord has not ended")
	}
	w.reads("b's")
	a.renewOnce() // so everything sent earlier on this connection has arrived
	w.reads("b's")
	if err := stop(); err != nil {
		e.Errorf("b lost the lock: %v", err)
	}
	b.k.release()
	w.reads("b's")
}

func (k *contender) renewOnce() {
	if err := k.renew(); err == nil {
		k.e.Error("the former holder renewed")
	}
}
