package gcs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/gcs/gcstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestFirstRenewalIsPaced: it comes a second after the write that began the term,
// however soon it is asked for.
func TestFirstRenewalIsPaced(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	l := at(t, s, options("a"))
	start := time.Now()
	drive.Hold(t, l)
	if err := l.Renew(drive.Context(t)); err != nil {
		t.Fatal(err)
	}
	if r := lastWrite(s); r.Verb != "patch" || r.At.Sub(start) < time.Second {
		t.Errorf("the last write is a %s, %v after the start; want a patch after 1s or more", r.Verb, r.At.Sub(start))
	}
}

// TestRenewAfterRecordIsPaced: the same goes for the renewal that follows on a
// SetRecord.
func TestRenewAfterRecordIsPaced(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
	l := at(t, s, options("a"))
	drive.Hold(t, l)
	drive.Renew(t, l)
	start := time.Now()
	setRecord(t, l, "x")
	drive.Renew(t, l)
	if r := lastWrite(s); ofRecord(r) || r.At.Sub(start) < time.Second {
		t.Errorf("the last write is %s, %v after SetRecord; want a renewal after 1s or more", r.Body, r.At.Sub(start))
	}
}

// lastWrite returns the last request that was not a look.
func lastWrite(s *gcstest.Server) (last gcstest.Request) {
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
	t.Parallel()
	s := gcstest.Start(t)
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
// not take what the release has made of the object for what it is to renew.
func TestReleaseBesideRenew(t *testing.T) {
	t.Parallel()
	s := gcstest.Start(t)
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
}
