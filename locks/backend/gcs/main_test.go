package gcs_test

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// TestMain sets an address without a server. Otherwise, a test that forgets to name an
// emulator would reach the service itself.
func TestMain(m *testing.M) {
	tester.Forget()
	_ = os.Setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:1")
	drive.Parallel("16")
	os.Exit(m.Run())
}

const lockName = "jobs/nightly"

func options(holder string) locks.Options {
	return locks.Options{Name: lockName, Holder: holder, TTL: 10 * time.Second, ConnectTimeout: 4 * time.Second, Version: "test"}
}

// patiently returns options with a connect timeout that is longer than any step of a test
// takes on a busy machine.
func patiently(holder string) locks.Options {
	o := options(holder)
	o.ConnectTimeout = 2 * drive.Patience
	return o
}

// open returns a handle that is closed when the test ends.
func open(t testing.TB, u *url.URL, o locks.Options) locks.Lock {
	t.Helper()
	l, err := gcs.Open(drive.Context(t), u, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// at returns a handle on the lock in the emulator.
func at(t testing.TB, s *gcstest.Server, o locks.Options) locks.Lock {
	t.Helper()
	return open(t, gcstest.URL(s.Addr(), "p"), o)
}

// renew calls Renew once.
func renew(t testing.TB, l locks.Lock) error {
	ctx, cancel := context.WithTimeout(drive.Context(t), 3*time.Second)
	defer cancel()
	return l.Renew(ctx)
}

// verbs counts the requests of each kind since the last call. Requests about the object
// with the request to the holder are "ask read" and so on.
func verbs(s *gcstest.Server) map[string]int {
	n := map[string]int{}
	for _, r := range s.Requests() {
		n[verb(r)]++
	}
	return n
}

func verb(r gcstest.Request) string {
	if strings.HasSuffix(r.Path, "~ask") || strings.Contains(string(r.Body), "leaderrun-ask") {
		return "ask " + r.Verb
	}
	return r.Verb
}
