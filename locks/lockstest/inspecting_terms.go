package lockstest

import (
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// inspectReportsLeft follows the lease of a holder that renews once. The time left may be
// reported in whole seconds.
func inspectReportsLeft(e *env) {
	w := e.open("watcher")
	a := e.openWith(e.u, e.longer("a"))
	a.hold()
	first := w.state().Left
	if first <= 0 || first > a.grant.TTL+time.Second {
		e.Errorf("a new lease of %v has %v left", a.grant.TTL, first)
	}
	passed := max(e.c.TTL, time.Second)
	pause(passed)
	later := w.state().Left
	if later > first-passed/2 {
		e.Errorf("a lease of %v had %v left, and %v later %v", a.grant.TTL, first, passed, later)
	}
	if err := a.renew(); err != nil {
		e.Fatalf("renew: %v", err)
	}
	if renewed := w.state().Left; renewed < later+passed/2 {
		e.Errorf("a lease of %v had %v left, and after a renewal %v", a.grant.TTL, later, renewed)
	}
	a.release()
	if got := w.state().Left; got != 0 {
		e.Errorf("nobody holds the lock, but the lease has %v left", got)
	}
}

// inspectReportsStart checks terms that begin in either way. The start is known if the
// previous holder did not release; for a new lock it may be unknown.
func inspectReportsStart(e *env) {
	w := e.open("watcher")
	begins := func(k *contender, as ...string) {
		if got := w.state().Start; k.grant.Clean != (got == locks.StartClean) || !slices.Contains(as, got) {
			e.Errorf("%s was granted %+v; the start of its term is reported as %q; want one of %q", k.o.Holder, k.grant, got, as)
		}
	}
	a := e.open("a")
	a.hold()
	begins(a, locks.StartClean, "")
	a.release()
	if got := w.state().Start; got != "" {
		e.Errorf("nobody holds the lock, but the start of a term is reported as %q", got)
	}
	b := e.open("b")
	b.hold()
	begins(b, locks.StartClean)
	if e.c.TTL > 0 {
		c := e.open("after the end of a lease").campaign()
		c.won(b.grant.TTL + e.late())
		c.k.keep()
		begins(c.k, locks.StartTakeover)
		b = c.k
	}
	b.release()
}
