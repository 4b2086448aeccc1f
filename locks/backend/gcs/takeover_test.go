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

// TestDateNotTrusted: an answer that was cached, or has no Date, proves nothing.
// The lock is had when it has not changed for a whole lease.
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
				t.Errorf("the lock was had after %v, by a clock that is not to be trusted", took)
			}
		})
	}
}

// hourAhead is what a proxy that hides, and whose clock is wrong, makes of an answer.
func hourAhead(h http.Header) {
	h.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
}

// impatient asks for a lease so short that its end proves nothing about that of
// the holder before.
func impatient() locks.Options {
	o := options("b")
	o.TTL = time.Second
	return o
}

// TestWrongDate: a proxy that hides puts an hour too much into the Date. The
// object's own stamps show it: who does not wait is told that the lock is held,
// and a third who is told the same Date does not have it, either.
func TestWrongDate(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	o := options("a")
	o.TTL = time.Minute
	a := at(t, s, o)
	drive.Hold(t, a)
	s.Fault(func(gcstest.Request) gcstest.Fault { return gcstest.Fault{Header: hourAhead} })
	b := at(t, s, impatient())
	for range 2 {
		_, err := b.Acquire(drive.Context(t), true)
		if held, ok := errors.AsType[*locks.HeldError](err); !ok || held.Status.Holder != "a" {
			t.Fatalf("b has taken over too early: got %v; want that a has it", err)
		}
	}
	if err := renew(t, a); !errors.Is(err, locks.ErrLost) {
		t.Errorf("a renews: %v", err)
	}
	if _, err := at(t, s, options("c")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("c: %v; want ErrHeld", err)
	}
}
