package lockstest

import (
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// successor returns a handle that continues the term of k, whose process is gone. If that
// was another process than ours, it is the same handle.
func (k *contender) successor() *contender {
	k.e.Helper()
	if r, ok := k.bare.(locks.Remote); ok {
		k.e.kill(r)
		return k
	}
	term := k.bare.(locks.Adopter).Term()
	if err := k.Close(); err != nil {
		k.e.Errorf("%s: close: %v", k.o.Holder, err)
	}
	next := k.e.openWith(k.e.u, k.o)
	k.e.witness.lapse() // the term goes on without a grant
	if err := next.bare.(locks.Adopter).Adopt(term); err != nil {
		k.e.Fatalf("%s: adopt: %v", k.o.Holder, err)
	}
	next.grant = k.grant
	return next
}

// kill kills the process that keeps a lock, if there is one. If a process was killed
// before it had done anything, there is no new one until the next request.
func (e *env) kill(r locks.Remote) {
	e.Helper()
	e.witness.lapse() // a lock without a lease may end with that process
	for _, pid := range children() {
		if r.Keeps(pid) {
			if p, err := os.FindProcess(pid); err != nil || p.Kill() != nil {
				e.Fatalf("cannot kill the process %d", pid)
			}
			drive.Eventually(e, e.prompt, "the process is gone", func() bool { return !r.Keeps(pid) })
			return
		}
	}
}

// adoptGoesOn makes another handle do all that a holder can, for longer than the lease
// would have lasted, and release. A waiter waits meanwhile.
func adoptGoesOn(e *env) {
	a := e.open("a")
	a.hold()
	if e.can(locks.CanRecord) {
		a.writes("before")
	}
	b := e.open("b").campaign()
	b.queued()
	b.k.keep()
	next := a.successor()
	stop := next.keep()
	pause(e.c.TTL * 3 / 2)
	if e.can(locks.CanRecord) {
		next.reads("before")
		next.writes("after")
	}
	if e.can(locks.CanAsk) {
		next.asks(next.grant.Token, "resign")
		next.isAsked("resign")
	}
	if err := stop(); err != nil {
		e.Fatalf("the adopted lock is lost: %v", err)
	}
	next.release()
	if g := b.won(e.prompt + e.c.Polling); g.Token <= a.grant.Token {
		e.Errorf("token %d after %d", g.Token, a.grant.Token)
	}
	if err := next.renew(); err == nil {
		e.Error("a released lock was renewed")
	}
	b.k.release()
	e.free()
}

// adoptExtendsNothing checks that without a renewal, the lease ends when it would have. A
// term that is adopted after that is lost, and harms nobody.
func adoptExtendsNothing(e *env) {
	a := e.open("a")
	a.hold()
	if e.can(locks.CanRecord) {
		a.writes("a's")
	}
	b := e.open("b").campaign()
	b.queued()
	b.k.keep()
	next := a
	for end := time.Now().Add(a.grant.TTL + e.late()); time.Now().Before(end); {
		pause(e.c.TTL / 2)
		next = next.successor()
	}
	b.won(e.c.TTL/4 + e.c.Polling) // less than after an extension
	cannot := func(k *contender) {
		if err := k.renew(); err == nil {
			e.Error("another holder's lock was renewed")
		}
		if e.can(locks.CanRecord) {
			k.cannotWrite("a former holder", "a's")
		}
	}
	cannot(next)
	last := next.successor()
	cannot(last)
	last.release()
	b.k.isUnharmed()
	b.k.release()
	e.free()
}

// adoptPlace makes another handle wait in the place of one whose process is gone. It gets the
// lock before a waiter that came later, and as soon as if nothing had happened. If that was no
// other process, it is cut off, so that it cannot tidy up.
func adoptPlace(e *env) {
	twin := e.twin()
	a := e.openWith(twin, e.longer("a"))
	a.hold()
	a.keep()
	place, o := "", e.longer("b")
	var b *contender
	o.Waiting = func(locks.Waiting) {
		if p, ok := b.bare.(locks.Placer); ok {
			place = p.Place()
		}
	}
	b = e.openWith(e.u, o)
	waits := b.campaign()
	waits.queued()
	c := e.openWith(twin, e.longer("c")).campaign()
	c.queued()
	if r, ok := b.bare.(locks.Remote); ok {
		e.kill(r)
		waits.queued() // again
	} else {
		defer e.sever(e.u, CutAll)()
		if err := b.Close(); err != nil {
			e.Errorf("close: %v", err)
		}
		waits.ended(e.prompt)
		b = e.openWith(twin, e.longer("b"))
		if err := b.bare.(locks.Placer).Resume(place); err != nil {
			e.Fatalf("resume: %v", err)
		}
		waits = b.campaign()
		waits.queued()
	}
	a.release()
	g := waits.won(e.prompt + e.c.Polling)
	if !c.pending() {
		e.Fatal("a waiter that came later has the lock")
	}
	if err := b.renew(); err != nil {
		e.Errorf("renew: %v", err)
	}
	if e.can(locks.CanAsk) {
		c.k.asks(g.Token, "resign")
		b.isAsked("resign")
	}
	b.release()
	if later := c.won(e.prompt + e.c.Polling); later.Token <= g.Token || g.Token <= a.grant.Token {
		e.Errorf("the tokens %d, %d and %d", a.grant.Token, g.Token, later.Token)
	}
	c.k.release()
	e.openWith(twin, e.options("free")).hold()
}

// adoptLearnsOfEviction checks that an adopted term reports an eviction.
func adoptLearnsOfEviction(e *env) {
	a := e.open("a")
	a.hold()
	next := a.successor()
	drive.Eventually(e, e.prompt, "the adopted lock is renewed", func() bool { return next.renew() == nil })
	e.evict()
	next.hearsOfEviction()
}

// adoptOfNonsense checks that an invalid term is an error, and leaves the handle as it
// was.
func adoptOfNonsense(e *env) {
	k := e.open("a")
	adopter, ok := k.bare.(locks.Adopter)
	if !ok {
		return // another process adopts it
	}
	for _, term := range []string{"", "x", "{}", "null", `{"nonce":"x"}`, "\x1b[2J"} {
		if err := adopter.Adopt(term); err == nil {
			e.Errorf("%q is adopted", term)
		}
	}
	k.hold()
	k.release()
	e.free()
}
