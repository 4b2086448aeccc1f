package queue_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// orphan returns the place of a waiter whose process is gone.
func (b *bench) orphan(holder string) (place string) {
	b.Helper()
	var l locks.Lock
	o := b.options(holder)
	o.Waiting = func(locks.Waiting) { place = l.(*queue.Lock).Place() }
	l, _ = b.open(b.Context(), &url.URL{Host: "gone", Path: "/p"}, o)
	done := make(chan error, 1)
	go func() { _, err := l.Acquire(b.Context(), false); done <- err }()
	time.Sleep(time.Second)
	defer b.path("gone").Cut(lockstest.CutReset)()
	_ = l.Close()
	if err := <-done; !errors.Is(err, workers.ErrClosed) || place == "" {
		b.Fatalf("acquire: %v; the place %q", err, place)
	}
	return place
}

// resume returns a handle that continues in a place.
func (b *bench) resume(place string) *queue.Lock {
	b.Helper()
	l := b.handle("heir")
	if err := l.Resume(place); err != nil {
		b.Fatal(err)
	}
	return l
}

// TestResumeEntersNothing: who resumes a place waits there, and makes no other entry.
func TestResumeEntersNothing(t *testing.T) {
	bubble(t, func(b *bench) {
		holder, _ := b.hold("a")
		l := b.resume(b.orphan("b"))
		b.Verbs()
		time.AfterFunc(time.Second, func() { drive.Release(b.T, holder) })
		drive.Hold(b.T, l)
		if n := b.Verbs()["enter"]; n != 0 {
			b.Errorf("entered %d times", n)
		}
	})
}

// TestResumeDenied: a resumed wait ends if its first look is denied.
func TestResumeDenied(t *testing.T) {
	bubble(t, func(b *bench) {
		b.hold("a")
		l := b.resume(b.orphan("b"))
		b.Next("look", Fault{Err: errDenied})
		if _, err := l.Acquire(b.Context(), false); !errors.Is(err, locks.ErrDenied) {
			b.Errorf("acquire: %v", err)
		}
	})
}

// TestAdoptNothing: a term or a place that cannot be read leaves a handle as it was, and a closed
// one adopts nothing. A holder that never waited has no place.
func TestAdoptNothing(t *testing.T) {
	bubble(t, func(b *bench) {
		l := b.handle("a")
		for _, adopt := range []func(string) error{l.Adopt, l.Resume} {
			if err := adopt("x"); !errors.Is(err, locks.ErrUsage) {
				b.Errorf("nonsense: %v", err)
			}
			drive.Release(b.T, l)
		}
		drive.Hold(b.T, l)
		if place := l.Place(); place != "" {
			b.Errorf("a holder has the place %q", place)
		}
		term := l.Term()
		next := b.handle("b")
		if err := next.Close(); err != nil {
			b.Error(err)
		}
		for _, adopt := range []func(string) error{next.Adopt, next.Resume} {
			if err := adopt(term); !errors.Is(err, workers.ErrClosed) {
				b.Errorf("a closed handle: %v", err)
			}
		}
	})
}

// TestTraits: a handle reports what its store is like.
func TestTraits(t *testing.T) {
	bubble(t, func(b *bench) {
		for _, unordered := range []bool{false, true} {
			o := b.options("a")
			l := queue.New(b.client(&url.URL{Host: "h", Path: "/p"}, o), queue.Traits{Unordered: unordered, Secrets: []string{"PASSWORD"}}, o)
			b.Cleanup(func() { _ = l.Close() })
			can, err := l.Abilities(context.Background())
			if err != nil || slices.Contains(can, locks.CanQueue) == unordered {
				b.Errorf("unordered %t: %v, %v", unordered, can, err)
			}
			if got := l.SecretEnv(); !slices.Equal(got, []string{"PASSWORD"}) {
				b.Errorf("secrets %q", got)
			}
		}
	})
}
