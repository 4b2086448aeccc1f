package lockstest

import (
	"fmt"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

func tryOnHeldLock(e *env) {
	a := e.open("host/1/a")
	grant := a.hold()
	a.keep()
	before := e.leftovers()
	b := e.open("host/2/b")
	for range 3 {
		start := time.Now()
		st := b.refused()
		if took := time.Since(start); took > e.prompt {
			e.Errorf("the refusal took %v", took)
		}
		checkStatus(e, st, a.o, grant.Token)
	}
	if after := e.leftovers(); len(after) != len(before) {
		e.Errorf("stored before the attempts: %q, and after: %q", before, after)
	}
	a.release()
	if _, err := b.try(); err != nil {
		e.Errorf("the refused handle when the lock is free: %v", err)
	}
	b.release()
	e.clean()
}

func checkStatus(e *env, st locks.Status, holder locks.Options, token uint64) {
	e.Helper()
	if !st.Held {
		e.Errorf("the status does not say that the lock is held: %+v", st)
	}
	if e.c.Anonymous {
		return
	}
	if st.Holder != holder.Holder {
		e.Errorf("the status says that the holder is %q; want %q", st.Holder, holder.Holder)
	}
	if st.RunID != "" && st.RunID != holder.RunID { // a run recognizes itself by this, so it must not be another's
		e.Errorf("the status says that the holder's run is %q; want %q", st.RunID, holder.RunID)
	}
	if st.Token != 0 && st.Token != token {
		e.Errorf("the status says that the token is %d; want %d", st.Token, token)
	}
}

// waiterWakes releases as soon as the waiter reports that it waits, which is when a
// notification would most likely be lost.
func waiterWakes(e *env) {
	const rounds = 9
	var took []time.Duration
	a := e.open("first")
	a.hold()
	for i := range rounds {
		b := e.open(fmt.Sprint("waiter ", i))
		c := b.campaign()
		c.queued()
		released := e.now()
		a.release()
		c.won(e.c.TTL + e.late())
		took = append(took, c.at.Sub(released))
		a = b
	}
	a.release()
	e.clean()
	slices.Sort(took)
	e.Logf("from release to grant: median %v, longest %v", took[rounds/2], took[rounds-1])
	if limit := e.wakes + e.c.Polling; took[rounds/2] > limit {
		e.Errorf("half of the waiters took over %v: %v", limit, took)
	}
	if limit := e.prompt + e.c.Polling; took[rounds-1] > limit {
		e.Errorf("a waiter took over %v: %v", limit, took)
	}
}

func waitingReports(e *env) {
	a := e.open("host/1/a")
	grant := a.hold()
	a.keep()
	for i := range 2 {
		k := e.open(fmt.Sprint("waiter ", i))
		w := k.campaign().queued()
		checkStatus(e, w.Status, a.o, grant.Token)
		if e.c.Places != (w.Lease > 0) {
			e.Errorf("Waiting reports a lease of the place of %v, but Config.Places is %v", w.Lease, e.c.Places)
		}
		if e.c.Places && w.Lease < e.c.TTL-time.Millisecond {
			e.Errorf("the place's lease is %v, shorter than the %v asked for", w.Lease, e.c.TTL)
		}
		if known := w.Position != 0 || e.can(locks.CanQueue); known && w.Position != i+1 {
			e.Errorf("waiter %d is at position %d according to Waiting", i+1, w.Position)
		}
	}
}

// fairOrder makes waiters arrive one after the other, one of whom leaves again. The
// waiter behind that one must look at the queue, and must not lead.
func fairOrder(e *env) {
	a := e.open("first")
	a.hold()
	stop := a.keep()
	var queue []*campaign
	for i := range 6 {
		c := e.open(fmt.Sprint("waiter ", i)).campaign()
		c.queued()
		queue = append(queue, c)
	}
	queue[2].cancel()
	queue[2].ended(e.prompt)
	queue = slices.Delete(queue, 2, 3)
	pause(e.wakes)
	for _, c := range queue {
		if !c.pending() {
			e.Fatalf("%s got the lock although it is held: %v", c.k.o.Holder, c.err)
		}
	}
	_ = stop()
	a.release()
	for i, c := range queue {
		c.won(e.prompt)
		for _, later := range queue[i+1:] {
			if !later.pending() {
				e.Fatalf("%s got the lock before its turn: %v", later.k.o.Holder, later.err)
			}
		}
		c.k.release()
	}
	e.clean()
}
