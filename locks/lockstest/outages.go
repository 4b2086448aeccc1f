package lockstest

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// outageIsNoRefusal cuts a waiter off until its time is up, for longer than an answer of the
// server counts. Another, which is not cut off, waits as long. Only that one knows that the
// lock is held.
func outageIsNoRefusal(e *env, how Cut) {
	a := e.openWith(e.twin(), e.options("holder"))
	a.hold()
	a.keep()
	counts := min(e.c.TTL, e.prompt)
	if e.c.Recipe { // the store may make a shorter lease longer
		counts = e.c.TTL
	}
	end := time.Now().Add(3 * counts)
	done, refused := e.waitUntil(end, e.u, counts, "cut off"), e.waitUntil(end, e.twin(), counts, "waiter")
	heal := e.sever(e.u, how)
	if left := time.Until(end); left < counts+e.stall {
		e.Fatalf("the cut comes only %v before the end of the wait", left)
	}
	err := <-done
	if took := time.Since(end); took > e.undo()+e.stall {
		e.Errorf("the wait lasted %v too long", took)
	}
	if errors.Is(err, locks.ErrHeld) || !errors.Is(err, locks.ErrUnavailable) && !errors.Is(err, locks.ErrLost) {
		e.Errorf("cut off when the time was up: got %v; want ErrUnavailable", err)
	}
	if err := <-refused; e.c.Twin != nil && !errors.Is(err, locks.ErrHeld) {
		e.Errorf("refused when the time was up: got %v; want ErrHeld", err)
	}
	heal()
}

// waitUntil begins a wait, with a lease that counts for so long, and returns when it is known to
// wait. The channel has the error with which it ended.
func (e *env) waitUntil(end time.Time, u *url.URL, ttl time.Duration, holder string) <-chan error {
	e.Helper()
	o := e.options(holder)
	o.TTL, o.ConnectTimeout = ttl, ttl
	k := e.openWith(u, o)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	e.Cleanup(cancel)
	done := make(chan error, 1)
	go func() {
		for {
			l, err := keepalive.Acquire(ctx, k, false, e.leaseOptions(ttl))
			if err == nil {
				_ = l.Release(e.patient())
				err = errGranted
			}
			if polled := e.c.Polling > 0 && errors.Is(err, locks.ErrHeld) && ctx.Err() == nil; !polled {
				done <- err
				return
			}
			pause(ttl / 10)
		}
	}()
	select {
	case <-k.asked:
	case err := <-done:
		e.Fatalf("%s: got %v instead of waiting", holder, err)
	}
	return done
}

var errGranted = errors.New("the lock was granted")
