package lockstest

import (
	"context"
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

func releaseIsIdempotent(e *env) {
	a := e.open("a")
	a.release() // nothing to release
	a.hold()
	a.release()
	a.release()
	e.free()
	b := e.open("b")
	b.hold()
	stop := b.keep()
	a.release() // the lock is b's now
	e.open("c").refused()
	if err := stop(); err != nil {
		e.Errorf("a's Release took the lock from b: %v", err)
	}
	b.release()
	e.free()
	for range 2 {
		if err := a.Close(); err != nil {
			e.Errorf("close: %v", err)
		}
	}
}

// releaseAfterLoss lets a's lease end, and then releases a, which must not affect b.
func releaseAfterLoss(e *env) {
	a := e.open("a")
	a.hold()
	b := e.open("b")
	b.campaign().won(a.grant.TTL + e.late())
	stop := b.keep()
	for range 2 {
		a.release()
		e.open("c").refused()
		if err := b.renew(); err != nil {
			e.Fatalf("b renews after a's release: %v", err)
		}
	}
	if err := stop(); err != nil {
		e.Errorf("b lost the lock: %v", err)
	}
	if err := a.renew(); err == nil {
		e.Error("a renewed b's lock")
	}
	b.release()
	e.free()
}

// releaseDuringAcquire calls Release while Acquire waits. That is allowed, and must not
// affect the holder.
func releaseDuringAcquire(e *env) {
	a := e.open("a")
	a.hold()
	a.keep()
	b := e.open("b")
	c := b.campaign()
	c.queued()
	ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
	defer cancel()
	if err := b.Release(ctx); err != nil && ctx.Err() != nil {
		e.Errorf("Release during a pending Acquire has not returned within %v: %v", e.prompt, err)
	}
	e.open("c").refused()
	c.cancel()
	c.ended(e.prompt)
	if c.err == nil {
		e.Error("the waiter has the lock as well as the holder")
	}
	b.release()
	a.release()
	e.free()
}

// closeDuringAcquire closes a handle that waits. Acquire may return, or continue until
// its context ends. It must not get another's lock.
func closeDuringAcquire(e *env) {
	a := e.open("a")
	a.hold()
	stop := a.keep()
	b := e.open("b")
	c := b.campaignRenewing(false)
	c.queued()
	if err := b.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	select {
	case <-c.done:
	case <-time.After(e.prompt):
		c.cancel()
	}
	c.ended(e.prompt)
	if c.err == nil {
		e.Error("the waiter has the lock as well as the holder")
	}
	_ = stop()
	a.release()
	d := e.open("d").campaign() // b's place may have remained until the end of its lease
	d.won(e.c.TTL + e.late())
	d.k.release()
	e.clean()
}

// releaseOverSilentConnection releases when the connections that the handle has fall silent. It
// has the time that the runner gives a release.
func releaseOverSilentConnection(e *env) {
	a := e.openWith(e.u, e.longer("a"))
	a.hold()
	if err := a.renew(); err != nil {
		e.Fatalf("renew: %v", err)
	}
	e.sever(e.u, CutOld)
	a.release()
	e.free()
}

func useAfterClose(e *env) {
	k := e.open("a")
	if err := k.Close(); err != nil {
		e.Errorf("close: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
	defer cancel()
	if g, err := k.Acquire(ctx, true); err == nil {
		e.Errorf("Acquire on a closed handle was granted %+v", g)
	}
	if err := k.Renew(ctx); err == nil {
		e.Error("Renew on a closed handle succeeded")
	}
	_ = k.Release(ctx)
	_ = k.Close()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Errorf("a method of a closed handle has not returned within %v", e.prompt)
	}
	e.free()
}

// renewWithoutLease renews when there is nothing to renew. That must not succeed, and
// must not make a lock ours.
func renewWithoutLease(e *env) {
	k := e.open("a")
	if err := k.renew(); err == nil {
		e.Error("Renew before Acquire succeeded")
	}
	k.hold()
	err := k.renew()
	switch {
	case e.c.TTL == 0 && !errors.Is(err, locks.ErrNoLease):
		e.Errorf("Renew without a lease: got %v; want ErrNoLease", err)
	case e.c.TTL > 0 && err != nil:
		e.Errorf("Renew of a lock just acquired: %v", err)
	}
	k.release()
	if err := k.renew(); err == nil {
		e.Error("Renew after Release succeeded")
	}
	e.free()
}
