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

// TestFirstRenewalIsPaced: the first renewal comes a second after the write that began the term,
// however early Renew is called.
func TestFirstRenewalIsPaced(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		start := time.Now()
		drive.Hold(t, l)
		if err := l.Renew(drive.Context(t)); err != nil {
			t.Fatal(err)
		}
		if r := lastWrite(s); r.Verb != "swap" || r.At.Sub(start) < time.Second {
			t.Errorf("the last write is a %s, %v after the start; want a swap after 1s or more", r.Verb, r.At.Sub(start))
		}
	})
}

// TestRenewAfterRecordIsPaced: the same holds for the first renewal after a SetRecord.
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

// lastWrite returns the last request that was not a read.
func lastWrite(s *sim) (last Request) {
	for _, r := range s.Requests() {
		if r.Verb != "read" {
			last = r
		}
	}
	return last
}

// TestRenewAfterTheEnd: a lease of a second has ended when a renewal comes a second after it
// began. The store would accept the write, but somebody else may have led meanwhile.
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

// asked is a context that reports when its deadline was first read.
type asked struct {
	context.Context
	once sync.Once
	c    chan struct{}
}

func (a *asked) Deadline() (time.Time, bool) {
	a.once.Do(func() { close(a.c) })
	return a.Context.Deadline()
}

// TestReleaseBesideRenew: a release comes while a renewal waits for its turn. The renewal must not
// write over the cell that the release has freed.
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
		if got := stateOf(t, s); !strings.Contains(got, `"state":"free"`) {
			t.Errorf("the state is %s", got)
		}
	})
}

// TestPaced: a renewal waits for its turn if there is time for that, and if its turn has not
// come.
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
					t.Errorf("the renewal took %v; want it to wait: %v", took, tt.waits)
				}
			})
		})
	}
}
