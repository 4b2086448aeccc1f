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
)

// TestFirstRenewalIsPaced: it comes a second after the write that began the term,
// however soon it is asked for, unless there is no time for that.
func TestFirstRenewalIsPaced(t *testing.T) {
	t.Parallel()
	for limit, want := range map[time.Duration]time.Duration{3 * time.Second: 900 * time.Millisecond, time.Second: 0} {
		s := gcstest.Start(t)
		l := at(t, s, options("a"))
		hold(t, l)
		ctx, cancel := context.WithTimeout(testContext(t), limit)
		defer cancel()
		if err := l.Renew(ctx); err != nil {
			t.Fatal(err)
		}
		var writes []time.Time
		for _, r := range s.Requests() {
			if r.Verb != "read" {
				writes = append(writes, r.At)
			}
		}
		if len(writes) != 2 {
			t.Fatalf("%d writes", len(writes))
		}
		gap := writes[1].Sub(writes[0])
		if gap < want || want == 0 && gap > 900*time.Millisecond {
			t.Errorf("with %v for the renewal, it came %v after the acquire; want %v or more", limit, gap, want)
		}
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
	hold(t, l)
	ctx := &asked{Context: testContext(t), c: make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- l.Renew(ctx) }()
	<-ctx.c
	release(t, l)
	if err := <-done; !errors.Is(err, locks.ErrLost) {
		t.Errorf("renew: %v; want ErrLost", err)
	}
	if got := record(t, s); !strings.Contains(got, `"state":"free"`) {
		t.Errorf("the record is %s", got)
	}
}
