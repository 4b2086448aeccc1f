package lockstest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// state returns the result of Inspect, or fails the test.
func (k *contender) state() locks.State {
	k.e.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), k.e.patience)
	defer cancel()
	st, err := k.inspect(ctx)
	if err != nil {
		k.e.Fatalf("%s: inspect: %v", k.o.Holder, err)
	}
	return st
}

// sees checks that Inspect reports the holder, or, if that is nil, none.
func (k *contender) sees(holder *contender) {
	k.e.Helper()
	st := k.state()
	if holder == nil {
		if st.Held || st.Holder != "" || len(st.Queue) > 0 {
			k.e.Errorf("%s inspects a free lock: got %+v", k.o.Holder, st)
		}
		return
	}
	holder.isReported(st.Status, k.o.Holder+" inspects it")
}

// isReported checks what is reported about a lock that k holds.
func (k *contender) isReported(st locks.Status, how string) {
	k.e.Helper()
	if !st.Held || st.Token != k.grant.Token {
		k.e.Errorf("%q is held with the token %d, and %s: got %+v", k.o.Name, k.grant.Token, how, st)
	}
	if k.e.c.Anonymous {
		return
	}
	if st.Holder != k.o.Holder || st.RunID != k.o.RunID || st.NoResign != k.o.NoResign || st.Advertise != k.o.Advertise {
		k.e.Errorf("%q is held by %+v, and %s: got %+v", k.o.Name, k.o, how, st)
	}
	if pid := cmp.Or(k.o.PID, os.Getpid()); st.PID != 0 && st.PID != pid {
		k.e.Errorf("%q is held by the process %d, and %s: got %d", k.o.Name, pid, how, st.PID)
	}
	if k.e.c.TTL > 0 && st.TTL <= 0 {
		k.e.Errorf("the holder's lease is reported as %v", st.TTL)
	}
	if age := time.Since(st.Since); age < -k.e.stall || age > 2*k.e.patience {
		k.e.Errorf("%q is reported as held for %v", k.o.Name, age)
	}
}

// inspectReports follows a lock through its life with a handle that never acquires, and
// also asks the others.
func inspectReports(e *env) {
	w := e.open("watcher")
	w.sees(nil)
	e.clean()
	o := e.options("a")
	o.NoResign, o.PID, o.Advertise = true, 1<<20+7, "10.0.0.7:8080, \"a\""
	a := e.openWith(e.u, o)
	a.hold()
	stop := a.keep()
	w.sees(a)
	a.sees(a)
	e.open("late").sees(a)
	if err := stop(); err != nil {
		e.Errorf("a lost the lock: %v", err)
	}
	a.release()
	w.sees(nil)
	b := e.open("b")
	b.hold()
	w.sees(b)
	if e.c.TTL > 0 {
		c := e.open("c").campaign()
		c.won(b.grant.TTL + e.late())
		led := time.Now()
		w.sees(c.k)
		e.eventually(e.prompt, "a term after a wait begins at the end of the wait", func() bool { return led.Sub(w.state().Since) < e.c.TTL/2 })
		b = c.k
	}
	b.release()
	w.sees(nil)
	e.free()
}

// inspectDuringAcquire asks a handle that waits.
func inspectDuringAcquire(e *env) {
	a := e.open("a")
	a.hold()
	stop := a.keep()
	b := e.open("b")
	c := b.campaign()
	c.queued()
	for range 3 {
		b.sees(a)
	}
	if !c.pending() {
		e.Fatalf("Inspect ended a concurrent Acquire: %v", c.err)
	}
	if err := stop(); err != nil {
		e.Fatalf("the holder lost the lock: %v", err)
	}
	a.release()
	c.won(e.prompt + e.c.Polling)
	b.sees(b)
	d := e.open("d").campaign()
	d.queued()
	d.cancel()
	d.ended(e.prompt)
	d.k.sees(b) // a cancelled Acquire leaves the handle able to inspect
	b.release()
	e.free()
}

// inspectDisturbsNobody makes one handle inspect without a pause while others take and
// renew the lock: to inspect is not to contend.
func inspectDisturbsNobody(e *env) {
	ctx, cancel := context.WithTimeout(context.Background(), e.patience)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	w := e.open("watcher")
	var looks atomic.Int64
	wg.Go(func() {
		defer cancel()
		for ; ctx.Err() == nil; looks.Add(1) {
			if _, err := w.inspect(ctx); err != nil && ctx.Err() == nil {
				e.Errorf("inspect: %v", err)
				return
			}
		}
	})
	for i := 0; i < 10 || looks.Load() < 2 && ctx.Err() == nil; i++ {
		if i >= 10 { // ten may be done before the first Inspect, and in simulated time none ends by itself
			time.Sleep(time.Millisecond)
		}
		contend(e, fmt.Sprintf("contender %d", i))
	}
	cancel()
	wg.Wait()
	if n := looks.Load(); n < 2 {
		e.Errorf("only %d inspections were made", n)
	}
}

// contend acquires and releases a free lock, with a handle of its own.
func contend(e *env, holder string) {
	k, err := e.tryOpen(e.u, e.options(holder))
	if err != nil {
		e.Fatal(err)
	}
	defer func() { _ = k.Close() }()
	if _, err := k.try(); err != nil {
		e.Fatalf("while another inspects, cannot acquire a free lock: %v", err)
	}
	if err := k.renew(); err != nil && !errors.Is(err, locks.ErrNoLease) {
		e.Errorf("while another inspects, renew: %v", err)
	}
	k.release()
}

// inspectHostile meets what no leaderrun wrote, with or without a holder.
func inspectHostile(e *env, i int, held bool) {
	if held {
		e.open("a").hold()
	}
	e.corrupt(i)
	w := e.open("watcher")
	e.bounded(2*e.prompt, "Inspect", func() {
		ctx, cancel := context.WithTimeout(context.Background(), e.prompt)
		defer cancel()
		st, err := w.inspect(ctx)
		e.harmless(err)
		e.modest(st)
		e.Logf("held: %v, holder %q, %v", st.Held, locks.Abbreviate(st.Holder), err)
	})
}

// modest checks that a state is not too large, whoever wrote it.
func (e *env) modest(st locks.State) {
	e.Helper()
	if len(st.Queue) > locks.MaxQueue {
		e.Errorf("the queue has %d places", len(st.Queue))
	}
	size := len(st.Holder) + len(st.Host) + len(st.RunID)
	for _, p := range st.Queue {
		size += len(p.Holder) + len(p.RunID)
	}
	if size > 4<<20 {
		e.Errorf("the state has %d bytes", size)
	}
}
