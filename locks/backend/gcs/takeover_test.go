package gcs_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestDateNotTrusted checks that the Date of a cached or proxied answer, or a missing one,
// proves nothing. A waiter gets the lock when it has not changed for a whole lease.
func TestDateNotTrusted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(http.Header){
		"cached":  func(h http.Header) { h.Set("Age", "3") },
		"proxied": func(h http.Header) { h.Set("Via", "1.1 proxy") },
		"absent":  func(h http.Header) { h["Date"] = nil },
		"earlier": func(h http.Header) { h.Set("Date", time.Now().Add(-24*time.Hour).UTC().Format(http.TimeFormat)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gcstest.Start(t)
			o := options("a")
			o.TTL = 2 * time.Second
			drive.Hold(t, at(t, s, o))
			s.Age("p/jobs%2Fnightly", time.Hour)
			s.Fault(func(gcstest.Request) gcstest.Fault { return gcstest.Fault{Header: change} })
			b := at(t, s, options("b"))
			if _, err := b.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
				t.Fatalf("at the first look: %v; want ErrHeld", err)
			}
			start := time.Now()
			if _, err := b.Acquire(drive.Context(t), false); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took < o.TTL {
				t.Errorf("acquired after %v, by a clock that cannot be trusted", took)
			}
		})
	}
}
