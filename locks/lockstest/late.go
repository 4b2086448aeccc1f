package lockstest

import "fmt"

// lateRequests returns the tests in which one of the requests of an Acquire or a Release is held
// back for longer than its sender waits: the nth. The handle goes on over another connection, and
// then the request arrives. So an outcome that is unknown cannot be settled by a read alone.
func lateRequests() (all []test) {
	for _, what := range []struct {
		name string
		most int // requests, of a backend that is connected
		run  func(*env, int)
	}{{"Acquire", 4, lateAcquire}, {"AcquireAfterTerm", 3, lateAcquireAfterTerm}, {"Release", 2, lateRelease}} {
		for n := range what.most {
			all = append(all, test{
				name: fmt.Sprintf("Late%s/%d", what.name, n), run: func(e *env) { what.run(e, n) },
				recipe: true, needs: []need{needTTL, needCut, needConns},
			})
		}
	}
	return all
}

// lateAcquire lets a request of the holder's own Acquire arrive during its term.
func lateAcquire(e *env, n int) {
	a := e.connected()
	land := e.sever(e.u, CutNth(n))
	if _, err := a.try(); err != nil {
		e.Logf("acquire: %v", err)
		a = e.successor()
	}
	e.unharmed(a, land)
}

// lateAcquireAfterTerm lets it arrive after the term, a whole lease later, when somebody else
// leads.
func lateAcquireAfterTerm(e *env, n int) {
	a := e.connected()
	land := e.sever(e.u, CutNth(n))
	if _, err := a.try(); err == nil {
		a.release()
	}
	b := e.successor()
	stop := b.keep()
	pause(e.c.TTL)
	if err := stop(); err != nil {
		e.Fatalf("b lost the lock: %v", err)
	}
	e.unharmed(b, land)
}

// lateRelease lets a request of a Release arrive in the next term.
func lateRelease(e *env, n int) {
	a := e.connected()
	a.hold()
	land := e.sever(e.u, CutNth(n))
	if err := a.giveUp(); err != nil {
		e.Logf("release: %v", err)
	}
	e.unharmed(e.successor(), land)
}

// connected makes a contender that has made requests before, about a lock that is free now. Its
// attempts do not wait for long.
func (e *env) connected() *contender {
	o := e.options("a")
	o.ConnectTimeout = 2 * e.stall
	a, before := e.openWith(e.u, o), e.openWith(e.twin(), e.options("before"))
	before.hold()
	a.refused()
	before.release()
	return a
}

// successor makes a contender that has the lock, at the latest when the lease of another that
// has failed has ended.
func (e *env) successor() *contender {
	b := e.openWith(e.twin(), e.options("b"))
	b.campaign().won(2*e.c.TTL + e.late() + e.prompt)
	return b
}

// unharmed lets a late request arrive, which must not affect the term of a contender: others see
// that before a renewal might cover it.
func (e *env) unharmed(leader *contender, land func()) {
	land()
	pause(e.stall / 2)
	if got := e.openWith(e.twin(), e.options("c")).refused().Holder; got != leader.o.Holder && !e.c.Anonymous {
		e.Errorf("a request that came late has made %q the holder; want %q", got, leader.o.Holder)
	}
	if err := leader.renew(); err != nil {
		e.Errorf("after a request that came late, %s renews: %v", leader.o.Holder, err)
	}
	leader.release()
	e.freeWithin(e.c.TTL + e.late())
}
