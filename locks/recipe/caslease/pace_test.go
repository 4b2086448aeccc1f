package caslease_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestFirstRenewalIsPaced: it comes a second after the write that began the term,
// however soon it is asked for.
func TestFirstRenewalIsPaced(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		start := time.Now()
		drive.Hold(t, l)
		if err := l.Renew(drive.Context(t)); err != nil {
			t.Fatal(err)
		}
		if r := lastWrite(s); r.Verb != "swap" || r.At.Sub(start) < time.Second {
			t.Errorf("the last write is a %s, %v after the start; want a patch after 1s or more", r.Verb, r.At.Sub(start))
		}
	})
}

// TestRenewAfterRecordIsPaced: the same goes for the renewal that follows on a
// SetRecord.
func TestRenewAfterRecordIsPaced(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		drive.Renew(t, l)
		start := time.Now()
		setRecord(t, l, "x")
		drive.Renew(t, l)
		if r := lastWrite(s); ofRecord(r) || r.At.Sub(start) < time.Second {
			t.Errorf("the last write is %s, %v after SetRecord; want a renewal after 1s or more", r.Value.State, r.At.Sub(start))
		}
	})
}

// lastWrite returns the last request that was not a look.
func lastWrite(s *sim) (last Request) {
	for _, r := range s.Requests() {
		if r.Verb != "read" {
			last = r
		}
	}
	return last
}

// TestRenewAfterTheEnd: a lease of a second is over when a renewal comes a second
// after it began. The service would take the write, but somebody may have led.
func TestRenewAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = time.Second
		l := at(t, s, o)
		drive.Hold(t, l)
		verbs(s)
		if err := l.Renew(drive.Context(t)); !errors.Is(err, locks.ErrLost) {
			t.Errorf("renew: %v; want ErrLost", err)
		}
		if n := verbs(s); len(n) > 0 {
			t.Errorf("requests: %v; want none", n)
		}
	})
}

// asked is a context that tells when it was first asked for its deadline.
type asked struct {
	context.Context
	once sync.Once
	c    chan struct{}
}

func (a *asked) Deadline() (time.Time, bool) {
	a.once.Do(func() { close(a.c) })
	return a.Context.Deadline()
}

// TestReleaseBesideRenew releases while a renewal waits for its turn. That must
// not take what the release has made of the cell for what it is to renew.
func TestReleaseBesideRenew(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		ctx := &asked{Context: drive.Context(t), c: make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- l.Renew(ctx) }()
		<-ctx.c
		drive.Release(t, l)
		if err := <-done; !errors.Is(err, locks.ErrLost) {
			t.Errorf("renew: %v; want ErrLost", err)
		}
		if got := record(t, s); !strings.Contains(got, `"state":"free"`) {
			t.Errorf("the record is %s", got)
		}
	})
}

// TestPaced: a renewal that has no time to wait for its turn does not, and one whose
// turn has come does not either.
func TestPaced(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		since, limit time.Duration
		waits        bool
	}{
		{"no time", 0, 900 * time.Millisecond, false},
		{"time to wait, and none for the request", 0, 1100 * time.Millisecond, false},
		{"time for both", 0, 1600 * time.Millisecond, true},
		{"no limit", 0, 0, true},
		{"its turn has come", time.Second, time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				l := at(t, s, options("a"))
				drive.Hold(t, l)
				time.Sleep(tt.since)
				ctx := context.Background()
				if tt.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.limit)
					defer cancel()
				}
				start := time.Now()
				if err := l.Renew(ctx); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took > 500*time.Millisecond != tt.waits {
					t.Errorf("it took %v; want it to wait: %v", took, tt.waits)
				}
			})
		})
	}
}
