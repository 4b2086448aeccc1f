package lockstest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// breaks ends the term with a token, or fails the test.
func (k *contender) breaks(token uint64) {
	k.e.Helper()
	if err := k.breakTerm(k.e.patient(), token); err != nil {
		k.e.Fatalf("%s: break the term with the token %d: %v", k.o.Holder, token, err)
	}
}

// cannotBreak checks that the token is not that of the current term.
func (k *contender) cannotBreak(what string, token uint64) {
	k.e.Helper()
	if err := k.breakTerm(k.e.patient(), token); !isLost(err) {
		k.e.Errorf("%s: break the term with the token %d: got %v; want ErrLost", what, token, err)
	} else {
		k.e.harmless(err)
	}
}

// losesTheLock checks that a holder learns of its loss.
func (k *contender) losesTheLock() {
	k.e.Helper()
	if lost := k.Lost(); lost != nil && !k.e.c.Unwatched {
		select {
		case err := <-lost:
			if !isLost(err) {
				k.e.Errorf("%s: Lost delivers %v; want ErrLost", k.o.Holder, err)
			}
		case <-time.After(k.e.noticed):
			k.e.Errorf("%s: Lost has delivered nothing within %v", k.o.Holder, k.e.noticed)
		}
	}
	if err := k.renew(); k.e.c.TTL > 0 && !isLost(err) {
		k.e.Errorf("%s: Renew after the term was broken: got %v; want ErrLost", k.o.Holder, err)
	}
}

// isUnharmed checks that a holder still has the lock.
func (k *contender) isUnharmed() {
	k.e.Helper()
	if err := k.renew(); err != nil && k.e.c.TTL > 0 {
		k.e.Errorf("%s: renew: %v", k.o.Holder, err)
	}
	select {
	case err := <-k.Lost():
		k.e.Errorf("%s has lost the lock: %v", k.o.Holder, err)
	default:
	}
	k.e.open("another").refused()
}

// opened returns how long it may take until a lock whose term of the given length was broken
// is granted again.
func (e *env) opened(ttl time.Duration) time.Duration {
	if e.c.Delayed {
		return ttl + e.late()
	}
	return e.prompt + e.c.Polling
}

// holdsNext gets the lock after a term of the given length was broken.
func (k *contender) holdsNext(ttl time.Duration) {
	k.e.Helper()
	if !k.e.c.Delayed {
		k.hold()
		return
	}
	early := k.e.now().Add(ttl / 2)
	err := error(nil)
	if !within(k.e.opened(ttl), func() bool { _, err = k.try(); return !errors.Is(err, locks.ErrHeld) }) || err != nil {
		k.e.Fatalf("%s: acquire after a broken term: %v", k.o.Holder, err)
	}
	if k.e.now() < early {
		k.e.Errorf("%s got the lock while the holder of a broken term of %v may still trust it", k.o.Holder, ttl)
	}
}

// comesAfter checks a grant that follows a broken term.
func (k *contender) comesAfter(broken *contender) {
	k.e.Helper()
	if k.grant.Token <= broken.grant.Token {
		k.e.Errorf("token %d after %d", k.grant.Token, broken.grant.Token)
	}
	if k.grant.Clean {
		k.e.Error("after a broken term the grant is clean")
	}
}

// breakEndsTheTerm checks that the holder learns of the break, and that the lock is free.
func breakEndsTheTerm(e *env) {
	w := e.open("operator")
	a := e.open("a")
	a.hold()
	if e.can(locks.CanRecord) {
		a.writes("kept")
	}
	w.breaks(a.grant.Token)
	a.losesTheLock()
	if e.can(locks.CanInspect) {
		if st := w.state(); !e.c.Delayed || st.Left >= 0 || st.Confirm <= 0 { // else it says who may still run
			w.sees(nil)
		}
	}
	if e.can(locks.CanRecord) {
		a.cannotWrite("the former holder", "kept")
	}
	b := e.open("b")
	b.holdsNext(a.grant.TTL)
	b.comesAfter(a)
	a.release() // of a lock that is no longer its own
	b.isUnharmed()
	b.release()
	c := e.open("c")
	if g := c.hold(); !g.Clean && e.c.ReportsStart {
		e.Error("after a release the grant is not clean")
	}
	c.breaks(c.grant.Token) // its own term
	c.losesTheLock()
	last := e.open("last")
	last.holdsNext(c.grant.TTL)
	last.release()
	e.free()
}

// breakOfAnEarlierTerm checks that breaking an earlier term, or none, changes nothing.
func breakOfAnEarlierTerm(e *env) {
	w := e.open("operator")
	w.cannotBreak("a lock that was never held", 1)
	a := e.open("a")
	a.hold()
	a.release()
	w.cannotBreak("a free lock", a.grant.Token)
	b := e.open("b")
	if g := b.hold(); !g.Clean && e.c.ReportsStart {
		e.Error("after a break without effect the grant is not clean")
	}
	t := b.grant.Token
	for _, token := range []uint64{0, a.grant.Token, t - 1, t + 1, 1<<64 - 1} {
		w.cannotBreak("another term", token)
		b.isUnharmed()
	}
	if e.c.TTL > 0 {
		c := e.open("after the end of a lease").campaign()
		c.won(b.grant.TTL + e.late())
		c.k.keep()
		w.cannotBreak("a term that has ended", b.grant.Token)
		c.k.isUnharmed()
		b = c.k
	}
	b.release()
	e.free()
}

// breakRepeated checks that the second break of a term fails, whoever asks.
func breakRepeated(e *env) {
	w, other := e.open("operator"), e.open("another operator")
	a := e.open("a")
	a.hold()
	w.breaks(a.grant.Token)
	w.cannotBreak("once more", a.grant.Token)
	other.cannotBreak("by another", a.grant.Token)
	b := e.open("b")
	b.holdsNext(a.grant.TTL)
	b.comesAfter(a)
	w.cannotBreak("with a new holder", a.grant.Token)
	b.isUnharmed()
	b.release()
	e.free()
}

// breakWithWaiters checks that the next in line gets the lock.
func breakWithWaiters(e *env) {
	w := e.open("operator")
	a := e.open("a")
	a.hold()
	stop := a.keep()
	b, c := e.open("b").campaign(), e.open("c").campaign()
	b.queued()
	c.queued()
	_ = stop()
	w.breaks(a.grant.Token)
	a.losesTheLock()
	first, second := b, c
	e.eventually(e.opened(a.grant.TTL), "a waiter has the lock", func() bool { return !b.pending() || !c.pending() })
	if b.pending() {
		first, second = c, b
	}
	first.won(e.prompt)
	first.k.comesAfter(a)
	w.breaks(first.k.grant.Token)
	second.won(e.opened(first.k.grant.TTL))
	second.k.comesAfter(first.k)
	second.k.isUnharmed()
	second.k.release()
	e.free()
}

// breakDuringTakeover has operators break a term at the moment in which its holder gives
// it up and the next one gets the lock, who must not be harmed.
func breakDuringTakeover(e *env) {
	operators := []*contender{e.open("operator 1"), e.open("operator 2"), e.open("operator 3")}
	for i := range 5 {
		a := e.open(fmt.Sprint("holder ", i))
		a.hold()
		b := e.open(fmt.Sprint("waiter ", i)).campaign()
		b.queued()
		results := make([]error, len(operators))
		var wg sync.WaitGroup
		for n, w := range operators {
			wg.Go(func() { results[n] = w.breakTerm(e.patient(), a.grant.Token) })
		}
		wg.Go(func() {
			pause(time.Duration(i) * time.Millisecond)
			e.harmless(a.giveUp())
		})
		wg.Wait()
		broken := 0
		for _, err := range results {
			if err == nil {
				broken++
			} else if !isLost(err) {
				e.Errorf("break a term that is about to end: got %v; want ErrLost or success", err)
			}
		}
		if broken > 1 {
			e.Errorf("one term was broken %d times", broken)
		}
		b.won(e.opened(a.grant.TTL))
		pause(e.wakes / 2) // the harm may still be on its way
		b.k.isUnharmed()
		b.k.release()
		for _, k := range []*contender{a, b.k} {
			_ = k.Close()
		}
	}
	e.free()
}

// breakOfTheCutOff checks that a holder that is cut off has lost the lock when it can be
// reached again.
func breakOfTheCutOff(e *env) {
	a := e.openWith(e.u, e.longer("cut off"))
	a.hold()
	heal := e.sever(e.u, CutAll)
	w := e.openWith(e.twin(), e.options("operator"))
	w.breaks(a.grant.Token)
	b := e.openWith(e.twin(), e.longer("b"))
	b.holdsNext(a.grant.TTL)
	b.comesAfter(a)
	heal()
	var err error
	e.eventually(e.prompt+e.late(), "the holder that was cut off learns of its loss", func() bool {
		err = a.renew()
		return err == nil || isLost(err)
	})
	if err == nil {
		e.Error("a holder renewed a broken term")
	}
	if err := b.renew(); err != nil {
		e.Errorf("renew: %v", err)
	}
	if _, err := e.openWith(e.twin(), e.options("c")).try(); !errors.Is(err, locks.ErrHeld) {
		e.Errorf("another contender while the next holder has the lock: got %v; want ErrHeld", err)
	}
	b.release()
}
