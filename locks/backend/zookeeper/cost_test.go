package zookeeper_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// received returns how many packets a server has received, when the number no longer grows.
func received(t *testing.T, s *zktest.Server) int {
	t.Helper()
	count := func() (n int) {
		for line := range strings.Lines(s.Ask("srvr")) {
			if rest, ok := strings.CutPrefix(line, "Received: "); ok {
				_, _ = fmt.Sscan(rest, &n)
			}
		}
		return n
	}
	last := count()
	drive.Eventually(t, drive.Patience, "the server is quiet", func() bool {
		before := last
		time.Sleep(300 * time.Millisecond)
		last = count()
		return last-before <= 1 // the "srvr" itself
	})
	return last
}

// TestOneWakePerRelease checks that a release with many waiters costs no more requests
// than one with few. In unfair mode it would wake all.
func TestOneWakePerRelease(t *testing.T) {
	t.Parallel()
	const waiters = 200
	o := options("holder")
	o.TTL = 10 * time.Minute // nobody needs to renew, however long it takes to start so many
	s := zktest.Start(t, zktest.Options{Largest: o.TTL})
	o.ConnectTimeout = drive.Patience
	a := open(t, s.URL()+"/p", o)
	drive.Hold(t, a)
	ctx, cancel := context.WithTimeout(t.Context(), o.TTL)
	defer cancel()
	first, won := campaign(ctx, t, s.URL()+"/p", o)
	var rest []<-chan drive.Result
	for range waiters - 1 {
		_, done := campaign(ctx, t, s.URL()+"/p", o)
		rest = append(rest, done)
	}
	before := received(t, s)
	start := time.Now()
	drive.Release(t, a)
	r := drive.Within(t, drive.Patience, won)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	t.Logf("the first of %d had the lock %v after the call of Release", waiters, r.At.Sub(start))
	// The release: connect and close. The waiter that wakes: list the queue, read its
	// node, and write its label again. Counting also takes some requests.
	if n := received(t, s) - before; n > 14 {
		t.Errorf("a release with %d waiters cost %d requests", waiters, n)
	} else {
		t.Logf("a release cost %d requests", n)
	}
	for _, done := range rest {
		select {
		case r := <-done:
			t.Fatalf("another also has the lock: %+v, %v", r.Grant, r.Err)
		default:
		}
	}
	drive.Release(t, first)
}

// testCloseIsQuick checks that Close does not delay the end of a job.
func testCloseIsQuick(t *testing.T, s *root) {
	var longest time.Duration
	for range 150 {
		l := open(t, s.URL()+"/p", options("a"))
		drive.Hold(t, l)
		drive.Release(t, l)
		start := time.Now()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		longest = max(longest, time.Since(start))
	}
	if longest > 900*time.Millisecond { // if the library waits, it waits a second
		t.Errorf("Close took %v", longest)
	}
}

// testLongQueue lists a queue of more than 1 MiB, which is more than clients
// in Java accept.
func testLongQueue(t *testing.T, s *root) {
	op := operate(t, s)
	o := options("a")
	o.ConnectTimeout = drive.Patience
	l := open(t, s.URL()+"/p", o)
	drive.Hold(t, l)
	name := "/p/jobs%2Fnightly/" + strings.Repeat("x", 4000)
	for i := range 300 {
		op.put(fmt.Sprint(name, i), "")
	}
	next, done := campaign(drive.Context(t), t, s.URL()+"/p", o)
	drive.Renew(t, l)
	drive.Renew(t, next)
	drive.Release(t, l)
	if r := drive.Within(t, drive.Patience, done); r.Err != nil {
		t.Fatal(r.Err)
	}
	drive.Release(t, next)
}

// TestServersLimits checks that the granted TTL counts, and not the requested one.
func TestServersLimits(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{Largest: 3 * time.Second, Config: []string{"minSessionTimeout=2000"}})
	for _, tt := range []struct{ ask, want time.Duration }{
		{time.Minute, 3 * time.Second}, {time.Millisecond, 2 * time.Second}, {2500*time.Millisecond + 1, 2501 * time.Millisecond},
	} {
		o := options("a")
		o.TTL = tt.ask
		l := open(t, s.URL()+"/p", o)
		if g := drive.Hold(t, l); g.TTL != tt.want {
			t.Errorf("asked for %v: granted %v; want %v", tt.ask, g.TTL, tt.want)
		}
		drive.Renew(t, l)
		drive.Release(t, l)
	}
}
