package azblob_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/azblob"
	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobtest"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// client returns what is below a lock. Its user closes it.
func client(t testing.TB, u *url.URL) caslease.Store {
	t.Helper()
	c, err := azblob.NewStore(u, locks.Options{ConnectTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestStore checks what the recipe relies on.
func TestStore(t *testing.T) {
	t.Parallel()
	s := azblobtest.Start(t)
	f := newFront(t, s.Addr())
	c := storetest.Config{
		Expiry:      caslease.ByLease,
		Open:        func(t testing.TB) caslease.Store { return client(t, azblobtest.URL(f.addr, "p")) },
		Unreachable: func(t testing.TB) caslease.Store { return client(t, azblobtest.URL("127.0.0.1:1", "p")) },
		FailNext: func(_ testing.TB, k causes.Kind) {
			bad := &fault{is: comp("metadata", "")}
			if k == causes.Throttled {
				bad.status, bad.code = http.StatusServiceUnavailable, "ServerBusy"
			}
			f.next.Store(bad)
		},
	}
	for _, value := range []string{"?", "ascii85:~", strings.Repeat("x", 7000)} {
		c.Hostile = append(c.Hostile, func(t testing.TB, k caslease.Key) {
			b := s.NewBlobClient("p/" + locks.EscapeName(k.Name))
			if _, err := b.SetMetadata(t.Context(), map[string]*string{"leaderrun": &value}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	storetest.Run(t, c)
}

// TestShortTimeout checks that a new lock, which cannot be taken for a second, can be taken
// with a time limit that leaves hardly a second for a request.
func TestShortTimeout(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	trial.Steady(t, func(tb testing.TB, scale int) {
		o := options("a")
		o.ConnectTimeout = time.Duration(scale) * 2 * time.Second
		u := azblobtest.URL(s.Addr(), fmt.Sprint("short", scale))
		if _, err := open(tb, u, o).Acquire(drive.Context(tb), true); err != nil {
			tb.Error(err)
		}
	})
}
