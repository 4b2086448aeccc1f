package caslease_test

import (
	"context"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

const lockName = "jobs/nightly"

// The ids of that lock's cells.
const (
	leaseCell   = "p|0|" + lockName
	requestCell = "p|1|" + lockName
)

// bubble runs a test over a simulated store, in simulated time. The store's Expiry is ByStamps,
// which uses most of the engine.
func bubble(t *testing.T, f func(t *testing.T, s *sim)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, newSim(caslease.ByStamps)) })
}

func options(holder string) locks.Options {
	return locks.Options{Name: lockName, Holder: holder, TTL: 10 * time.Second, ConnectTimeout: 4 * time.Second, Version: "test"}
}

// patiently returns options with a long connect timeout.
func patiently(holder string) locks.Options {
	o := options(holder)
	o.ConnectTimeout = 2 * drive.Patience
	return o
}

// at opens a handle, and closes it when the test ends.
func at(t testing.TB, s *sim, o locks.Options) locks.Lock {
	t.Helper()
	l, err := s.open(t.Context(), &url.URL{Host: "host", Path: "/p"}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// renew makes one attempt to renew.
func renew(t testing.TB, l locks.Lock) error {
	ctx, cancel := context.WithTimeout(drive.Context(t), 3*time.Second)
	defer cancel()
	return l.Renew(ctx)
}

// stateOf returns the state in the lock's cell.
func stateOf(t testing.TB, s *sim) string {
	t.Helper()
	c, ok := s.Cell(leaseCell)
	if !ok {
		t.Fatal("the lock has no cell")
	}
	return c.State
}

// verbs counts the requests of each verb since the last call.
func verbs(s *sim) map[string]int {
	n := map[string]int{}
	for _, r := range s.Requests() {
		n[r.verb()]++
	}
	return n
}

// ofRecord reports whether a request writes the record.
func ofRecord(r Request) bool { return r.Verb == "swap" && r.Value.Record != nil }
