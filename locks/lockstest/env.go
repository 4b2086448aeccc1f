package lockstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// lockName is the lock of most tests. Each test has its own store.
const lockName = "jobs/nightly"

// An env is the environment of one test.
type env struct {
	testing.TB
	limits
	c       Config
	u       *url.URL
	clock   clock.Clock
	slots   int // of the locks that are opened; 0 if they have none
	witness *witness
}

// newEnv begins a test on a machine so busy that it needs scale times as long.
func newEnv(t testing.TB, c Config, scale int) *env {
	c.TTL *= time.Duration(scale)
	c.Late *= time.Duration(scale)
	if c.MaxTTL > 0 { // a quarter of it is long enough on any machine
		c.TTL = min(c.TTL, c.MaxTTL/4)
	}
	e := &env{TB: t, limits: newLimits(scale), c: c, clock: clock.Boot{}}
	e.patience = max(e.patience, 6*c.TTL)
	if c.Simulated {
		e.clock = clock.Bubble{}
		e.patience *= 10 // this costs nothing, and a poller may be unlucky for long
	}
	e.u = c.URL(t)
	e.witness = newWitness(t, e.now)
	t.Cleanup(func() {
		if n := e.witness.dropped; n > 0 {
			t.Logf("%d grants were known only after the end of their lease, and prove nothing", n)
		}
	})
	e.watchGoroutines()
	return e
}

// late returns how long after the end of its lease a waiter may get a lock.
func (e *env) late() time.Duration {
	late := e.c.Late
	if late == 0 {
		late = e.prompt
	}
	return late + e.c.Polling
}

// options returns the options of a contender for the usual lock.
func (e *env) options(holder string) locks.Options {
	ttl := e.c.TTL
	if ttl == 0 {
		ttl = 15 * time.Second
	}
	return locks.Options{
		Name:           lockName,
		Holder:         holder,
		TTL:            ttl,
		ConnectTimeout: e.connect,
		Version:        "lockstest",
		RunID:          fmt.Sprintf("%016x", rand.Uint64()),
	}
}

// times returns how often to do what may take a whole lease: n times, or half as often where
// leases are long.
func (e *env) times(n int) int {
	if e.c.MaxTTL > 0 {
		return (n + 1) / 2
	}
	return n
}

// patient returns a context that ends when patience does.
func (e *env) patient() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), e.patience)
	e.Cleanup(cancel)
	return ctx
}

// eventually polls until ok returns true, and fails the test after the limit.
func (e *env) eventually(limit time.Duration, what string, ok func() bool) {
	e.Helper()
	if !within(limit, ok) {
		e.Fatalf("not within %v: %s", limit, what)
	}
}

// within polls, often at first, until ok returns true or the limit is over.
func within(limit time.Duration, ok func() bool) bool {
	end := time.Now().Add(limit)
	for pause := time.Millisecond; !ok(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// pause lets time pass, where the test is about the passing of time.
func pause(d time.Duration) { time.Sleep(d) }

// now returns the time of the boot clock, or that of the bubble.
func (e *env) now() clock.Instant { return e.clock.Now() }

// leftovers returns what is stored, sorted, or nil if that is unknown.
func (e *env) leftovers() []string {
	if e.c.Leftovers == nil {
		return nil
	}
	var got []string
	e.unwatched(func() { got = e.c.Leftovers(e.TB, e.u) })
	slices.Sort(got)
	return got
}

// clean checks that the store is empty.
func (e *env) clean() {
	e.Helper()
	var got []string
	if !within(e.prompt, func() bool { got = e.leftovers(); return len(got) == 0 }) {
		e.Errorf("left behind in the store:\n%s", strings.Join(got, "\n"))
	}
}

// free checks that a new contender gets the lock at once, releases it, and checks that
// nothing is left.
func (e *env) free() {
	e.Helper()
	e.freeWithin(e.undo())
}

// freeWithin is like free for a lock that may take a while to become free.
func (e *env) freeWithin(limit time.Duration) {
	e.Helper()
	k := e.open("free")
	var err error
	if !within(limit, func() bool { _, err = k.try(); return !errors.Is(err, locks.ErrHeld) }) || err != nil {
		e.Fatalf("the lock should be free: %v", err)
	}
	k.release()
	e.clean()
}

// undo returns how long the server may take to undo a failed call: less than the end of
// the lease would take.
func (e *env) undo() time.Duration {
	if e.c.TTL == 0 {
		return e.prompt
	}
	return e.c.TTL / 2
}
