package lockstest

import (
	"context"
	"errors"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// leaseOptions returns the options to keep a lease of the given length.
func (e *env) leaseOptions(ttl time.Duration) keepalive.Options {
	if ttl == 0 {
		ttl = time.Second
	}
	return keepalive.Options{Interval: ttl / 5, Attempt: ttl / 3, Clock: e.clock}
}

// lease gets the lock at once, kept by leaderrun's own loop.
func (k *contender) lease(through locks.Lock) *keepalive.Lease {
	k.e.Helper()
	l, err := keepalive.Acquire(k.e.patient(), through, true, k.e.leaseOptions(k.o.TTL))
	if err != nil {
		k.e.Fatalf("%s: acquire a lease: %v", k.o.Holder, err)
	}
	k.e.Cleanup(func() { k.end(l) })
	return l
}

// end gives a lease up, whatever its state and the network's.
func (k *contender) end(l *keepalive.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), k.e.prompt)
	defer cancel()
	_ = l.Release(ctx)
}

// alive checks that the term continues.
func (e *env) alive(l *keepalive.Lease) {
	e.Helper()
	select {
	case <-l.Done():
		e.Fatalf("the lease has ended: %v", l.Err())
	default:
	}
	if err := l.Err(); err != nil {
		select {
		case <-l.Done():
		default:
			e.Fatalf("Err is %v before Done is closed", err)
		}
	}
}

// deadlineOf returns when the lease ends.
func (e *env) deadlineOf(l *keepalive.Lease) clock.Instant {
	e.Helper()
	d, ok := l.Deadline()
	if ok != (e.c.TTL > 0) {
		e.Fatalf("Deadline reports %v, but Config.TTL is %v", ok, e.c.TTL)
	}
	return d
}

// lost waits until a lease is lost, and returns its error.
func (e *env) lost(l *keepalive.Lease, limit time.Duration) error {
	e.Helper()
	select {
	case <-l.Done():
	case <-time.After(limit):
		e.Fatalf("the lease has not ended within %v", limit)
	}
	if err := l.Err(); !errors.Is(err, locks.ErrLost) {
		e.Errorf("the lease ended with %v; want an error that wraps ErrLost", err)
	}
	return l.Err()
}

// leaseLives checks the life of a lease when nothing goes wrong.
func leaseLives(e *env) {
	k := e.open("a")
	l := k.lease(k)
	first := e.deadlineOf(l)
	for range 12 {
		pause(e.leaseOptions(e.c.TTL).Interval)
		e.alive(l)
		if d := e.deadlineOf(l); e.c.TTL > 0 && d <= e.now() {
			e.Fatalf("the deadline passed %v ago, but the lease is alive", e.now().Sub(d))
		}
	}
	if last := e.deadlineOf(l); e.c.TTL > 0 && last <= first {
		e.Error("the deadline has not advanced")
	}
	e.open("b").refused()
	for range 2 {
		if err := l.Release(e.patient()); err != nil {
			e.Errorf("release: %v", err)
		}
	}
	<-l.Done()
	if !errors.Is(l.Err(), keepalive.ErrReleased) {
		e.Errorf("after Release, Err is %v; want ErrReleased", l.Err())
	}
	e.free()
}

// deadlineCountsFromSending holds back the replies, including that of the acquisition. A
// deadline that counts from a reply is later than the sending allows.
func deadlineCountsFromSending(e *env) {
	k := e.open("a")
	s := &spy{Lock: k, e: e, delay: e.c.TTL / 6}
	l := k.lease(s)
	ttl := l.Grant().TTL
	first := e.deadlineOf(l)
	for end := e.now().Add(2 * e.c.TTL); e.now() < end; pause(2 * time.Millisecond) {
		e.alive(l)
		d := e.deadlineOf(l)
		if bound := s.bound(ttl); d > bound {
			e.Fatalf("the deadline is %v later than the last acknowledged request allows", d.Sub(bound))
		}
	}
	if last := e.deadlineOf(l); last <= first {
		e.Error("the deadline has not advanced")
	}
}

// lostRepliesMoveNothing lets the server extend the lease while the replies are lost. The
// lease must end at its deadline, and must not be renewed after that.
func lostRepliesMoveNothing(e *env) {
	k := e.open("a")
	s := &spy{Lock: k, e: e}
	l := k.lease(s)
	b := e.open("b").campaign()
	b.queued()
	s.loseReplies()
	pause(2 * e.leaseOptions(e.c.TTL).Attempt) // requests that were on their way are counted
	d := e.deadlineOf(l)
	_ = e.lost(l, d.Sub(e.now())+e.stall)
	ended := e.now()
	if again := e.deadlineOf(l); again != d || ended < d {
		e.Errorf("the lease ended %v after its deadline, which moved by %v", ended.Sub(d), again.Sub(d))
	}
	before := s.renewals()
	b.won(k.grant.TTL + e.c.TTL + e.late())
	if after := s.renewals(); after != before {
		e.Errorf("%d renewals were sent after the lease had ended", after-before)
	}
	if b.at < d {
		e.Errorf("b got the lock %v before the end of a's lease", d.Sub(b.at))
	}
	k.end(l) // harmless to b
	e.open("c").refused()
	b.k.release()
	e.clean()
}

// leaseFromTheQueue waits for longer than a TTL. The first deadline must count from an
// acknowledged request, whenever the lock became ours.
func leaseFromTheQueue(e *env) {
	a := e.open("a")
	a.hold()
	stop := a.keep()
	k := e.open("b")
	s := &spy{Lock: k, e: e, delay: e.c.TTL / 8}
	type result struct {
		lease *keepalive.Lease
		err   error
	}
	got := make(chan result, 1)
	ctx := e.patient()
	go func() {
		l, err := keepalive.Acquire(ctx, s, false, e.leaseOptions(e.c.TTL))
		for e.c.Polling > 0 && errors.Is(err, locks.ErrHeld) && ctx.Err() == nil {
			pause(e.c.Polling)
			l, err = keepalive.Acquire(ctx, s, false, e.leaseOptions(e.c.TTL))
		}
		got <- result{l, err}
	}()
	pause(e.c.TTL + e.c.TTL/2)
	_ = stop()
	a.release()
	r := <-got
	if r.err != nil {
		e.Fatalf("acquire a lease: %v", r.err)
	}
	defer k.end(r.lease)
	d := e.deadlineOf(r.lease)
	if bound := s.bound(r.lease.Grant().TTL); d > bound {
		e.Errorf("the first deadline is %v later than the last acknowledged request allows", d.Sub(bound))
	}
	if d <= e.now() {
		e.Error("the lease is already over when it begins")
	}
	pause(e.c.TTL)
	e.alive(r.lease)
}

// evictionEndsLease is evictionIsLoss as seen by the runner. If losses are reported, the
// lease ends before the next renewal would notice.
func evictionEndsLease(e *env) {
	k := e.openWith(e.u, e.longer("a"))
	o := keepalive.Options{Interval: max(k.o.TTL/2, 2*e.noticed), Attempt: e.prompt, Clock: e.clock}
	l, err := keepalive.Acquire(e.patient(), k, true, o)
	if err != nil {
		e.Fatalf("acquire a lease: %v", err)
	}
	defer k.end(l)
	e.evict()
	limit := e.noticed
	if k.Lost() == nil || e.c.Unwatched {
		limit = o.Interval + o.Attempt
	}
	if err := e.lost(l, limit); errors.Is(err, keepalive.ErrExpired) {
		e.Errorf("the lease ended by its deadline and not by the eviction: %v", err)
	}
	e.free()
}
