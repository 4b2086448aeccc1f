package lockstest

import (
	"github.com/leaderrun/leaderrun/locks"
)

// tokens checks that each token is greater than the one before.
type tokens struct {
	e    *env
	last uint64
}

func (ts *tokens) next(g locks.Grant, after string) {
	ts.e.Helper()
	if g.Token <= ts.last {
		ts.e.Errorf("after %s the token is %d, and was %d before", after, g.Token, ts.last)
	}
	ts.last = g.Token
}

// tokensRise ends the lock in all possible ways.
func tokensRise(e *env) {
	ts := tokens{e: e}
	for range 3 {
		k := e.open("released")
		ts.next(k.hold(), "a release")
		k.release()
	}
	k := e.open("lapsed")
	ts.next(k.hold(), "a release")
	if e.c.TTL > 0 {
		b := e.open("next").campaign()
		ts.next(b.won(k.grant.TTL+e.late()), "the end of a lease")
		k = b.k
	}
	if e.c.Crash != nil {
		e.operates(func() { e.c.Crash(e.TB, e.u, lockName, k.bare) })
		b := e.open("after the crash").campaign()
		ts.next(b.won(e.c.TTL+e.late()), "a crash")
		k = b.k
	}
	if e.c.Evict != nil {
		e.evict()
		b := e.open("after the deletion").campaign()
		ts.next(b.won(e.prompt+e.c.Polling), "the lock was deleted")
		b.k.release()
		e.evict()
		k = e.open("after the deletion of a free lock")
		ts.next(k.hold(), "the free lock was deleted")
	}
	k.release()
	k = e.open("last")
	ts.next(k.hold(), "a release")
	k.release()
	e.clean()
}

func (e *env) evict() {
	e.operates(func() { e.c.Evict(e.TB, e.u, lockName) })
}
