package lockstest

import (
	"errors"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// forgets deletes everything that is kept of the lock, or fails the test.
func (k *contender) forgets() {
	k.e.Helper()
	if err := k.forget(k.e.patient()); err != nil {
		k.e.Fatalf("%s: forget %q: %v", k.o.Holder, k.o.Name, err)
	}
}

// cannotForget checks that the lock cannot be forgotten while it is in use.
func (k *contender) cannotForget(what string) {
	k.e.Helper()
	err := k.forget(k.e.patient())
	k.e.harmless(err)
	if _, ok := errors.AsType[*locks.HeldError](err); !ok {
		k.e.Errorf("forget a lock with %s: got %v; want a *HeldError", what, err)
	}
}

// kept returns everything that is stored, sorted, or nil if that is unknown.
func (e *env) kept() []string {
	if e.c.Kept == nil {
		return nil
	}
	var got []string
	e.unwatched(func() { got = e.c.Kept(e.TB, e.u) })
	slices.Sort(got)
	return got
}

// use uses the lock with a name for everything it can do.
func (e *env) use(name string) *contender {
	e.Helper()
	k := e.openNamed(e.u, name)
	k.hold()
	if e.can(locks.CanRecord) {
		k.writes("of " + name)
	}
	if e.can(locks.CanAsk) {
		k.asks(k.grant.Token, "never received")
	}
	k.release()
	return k
}

// forgetLeavesNothing checks that Forget leaves nothing of one lock, and everything of
// others.
func forgetLeavesNothing(e *env) {
	w := e.openNamed(e.u, "x")
	w.forgets() // a lock that never existed
	if got := e.kept(); len(got) > 0 {
		e.Errorf("forgetting a lock that never existed has left:\n%s", strings.Join(got, "\n"))
	}
	e.use("x")
	w.forgets()
	w.forgets()
	if got := e.kept(); len(got) > 0 {
		e.Errorf("of a forgotten lock is left:\n%s", strings.Join(got, "\n"))
	}
	if e.can(locks.CanRecord) {
		w.readsNothing()
	}
	if e.can(locks.CanInspect) {
		w.sees(nil)
	}
	others := e.possible([]string{"x/y", "x#0", "x#1", "X", "x.x", "xx"})
	for _, name := range others {
		e.use(name)
	}
	before := e.kept()
	e.use("x")
	w.forgets()
	if after := e.kept(); !slices.Equal(before, after) {
		e.Errorf("of other locks there was\n%s\nand when one is forgotten there is\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	for _, name := range others {
		if e.can(locks.CanRecord) {
			e.openNamed(e.u, name).reads("of " + name)
		}
		k := e.openNamed(e.u, name)
		k.hold()
		k.release()
	}
	e.use("x") // it is like any new lock
	e.openNamed(e.u, "x").forgets()
}

// forgetOfHeldLock checks that Forget changes nothing while the lock is held or waited
// for.
func forgetOfHeldLock(e *env) {
	w := e.open("operator")
	a := e.open("a")
	a.hold()
	a.keep()
	if e.can(locks.CanRecord) {
		a.writes("kept")
	}
	unharmed := func(k *contender) {
		k.isUnharmed()
		if e.can(locks.CanRecord) {
			k.reads("kept")
		}
	}
	w.cannotForget("a holder")
	a.cannotForget("a holder, by itself")
	unharmed(a)
	b := e.open("b").campaign()
	b.queued()
	w.cannotForget("a waiter")
	a.release()
	g := b.won(e.prompt + e.c.Polling)
	b.k.keep()
	if g.Token <= a.grant.Token {
		e.Errorf("token %d after %d", g.Token, a.grant.Token)
	}
	w.cannotForget("the next holder")
	unharmed(b.k)
	b.k.release()
	e.free()
}
