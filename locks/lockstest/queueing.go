package lockstest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// waits checks that Inspect reports exactly these waiters, in order if there is one. A
// waiter that has left may be visible for a moment.
func (k *contender) waits(want ...*contender) {
	k.e.Helper()
	var got locks.State
	if !within(k.e.prompt, func() bool { got = k.state(); return k.e.sameQueue(got.Queue, want) }) {
		k.e.Errorf("%s sees the queue %+v; want %s", k.o.Holder, got.Queue, holders(want))
	}
	if got.Waiters != len(want) {
		k.e.Errorf("%s sees %d waiters; want %d", k.o.Holder, got.Waiters, len(want))
	}
	for _, p := range got.Queue {
		if age := time.Since(p.Since); age < -k.e.stall || age > 2*k.e.patience {
			k.e.Errorf("%s is reported to wait for %v", p.Holder, age)
		}
	}
}

func (e *env) sameQueue(got []locks.Place, want []*contender) bool {
	var have, need []string
	for _, p := range got {
		have = append(have, fmt.Sprint(p.Holder, p.RunID, p.Priority))
	}
	for _, k := range want {
		need = append(need, fmt.Sprint(k.o.Holder, k.o.RunID, k.o.Priority))
	}
	if !e.c.Fair {
		slices.Sort(have)
		slices.Sort(need)
	}
	return slices.Equal(have, need)
}

func holders(all []*contender) string {
	var names []string
	for _, k := range all {
		names = append(names, fmt.Sprintf("%s (run %s, priority %d)", k.o.Holder, k.o.RunID, k.o.Priority))
	}
	return strings.Join(names, ", ")
}

// queueReports lets waiters of several priorities come and go.
func queueReports(e *env) {
	w := e.open("watcher")
	a := e.open("a")
	a.hold()
	stop := a.keep()
	w.waits()
	var waiters []*contender
	var campaigns []*campaign
	for i, priority := range []int{7, -1000, 0, 1000} {
		o := e.options(fmt.Sprintf("waiter %d", i))
		o.Priority = priority
		o.TTL = max(o.TTL, 4*e.prompt) // so that a waiter that leaves without a request is not gone in time
		k := e.openWith(e.u, o)
		c := k.campaign()
		c.queued()
		waiters, campaigns = append(waiters, k), append(campaigns, c)
		w.waits(waiters...)
	}
	waiters[2].waits(waiters...) // one of them inspects
	campaigns[1].cancel()
	campaigns[1].ended(e.prompt)
	w.waits(waiters[0], waiters[2], waiters[3])
	w.sees(a)
	_ = stop()
	a.release()
	if e.c.Fair {
		campaigns[0].won(e.prompt + e.c.Polling)
		w.waits(waiters[2], waiters[3])
		w.sees(waiters[0])
	}
	for _, c := range campaigns {
		c.cancel()
		c.ended(e.prompt)
		_ = c.k.giveUp()
	}
	w.waits()
	w.sees(nil)
}

// longQueue has more waiters than a State shows.
func longQueue(e *env) {
	a := e.open("a")
	a.hold()
	a.keep()
	const crowd = locks.MaxQueue + 3
	e.operates(func() { e.c.Crowd(e.TB, e.u, lockName, crowd) })
	for _, k := range []*contender{a, e.open("watcher")} {
		st := k.state()
		if got := len(st.Queue); got != locks.MaxQueue {
			e.Errorf("of %d waiters %d are shown; want %d", crowd, got, locks.MaxQueue)
		}
		if st.Waiters < locks.MaxQueue {
			e.Errorf("%d waiters are counted; there are %d", st.Waiters, crowd)
		}
	}
}
