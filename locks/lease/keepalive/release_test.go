package keepalive_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

func TestRelease(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		l := r.hold()
		r.until(4 * time.Second)
		r.lives(l)
		for range 2 {
			if err := l.Release(t.Context()); err != nil {
				t.Errorf("release: %v", err)
			}
		}
		r.ends(l, 4*time.Second, keepalive.ErrReleased)
		if errors.Is(l.Err(), locks.ErrLost) {
			t.Errorf("got %v, which looks like a loss", l.Err())
		}
		r.until(time.Minute)
		r.did("renew", seconds(3)...)
		r.did("release", seconds(4, 4)...)
	})
}

func TestReleaseConcurrently(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = func(int) step { return step{out: 3 * time.Second, deaf: true} }
		l := r.hold()
		r.until(4 * time.Second)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := l.Release(t.Context()); err != nil {
					t.Errorf("release: %v", err)
				}
			})
		}
		wg.Wait()
		r.is(l.Err(), keepalive.ErrReleased)
	})
}

// TestReleaseWhileRenewing: Release cancels a concurrent renewal. Its outcome changes
// nothing, and it is over once Release has returned.
func TestReleaseWhileRenewing(t *testing.T) {
	for name, test := range map[string]struct {
		renewal step
		until   time.Duration // when Release returns
	}{
		"cancelled":       {silence, 4 * time.Second},
		"renews anyway":   {step{out: 500 * time.Millisecond, back: time.Second, deaf: true}, 4500 * time.Millisecond},
		"finds it gone":   {step{out: 1500 * time.Millisecond, deaf: true}, 4500 * time.Millisecond},
		"ignores context": {step{out: 12 * time.Second, deaf: true}, 9 * time.Second}, // until the end of ctx
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.renew = func(int) step { return test.renewal }
				l := r.hold()
				r.until(4 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if err := l.Release(ctx); err != nil {
					t.Errorf("release: %v", err)
				}
				if got := r.now(); got != test.until {
					t.Errorf("Release returned at %v, want %v", got, test.until)
				}
				r.did("release", seconds(4)...) // Release did not wait for the renewal
				r.is(l.Err(), keepalive.ErrReleased)
				r.deadline(l, r.e(0))
				r.until(time.Minute)
				r.did("renew", seconds(3)...)
				if len(r.renewals) != 0 {
					t.Errorf("Renewed got %v", r.renewals)
				}
			})
		})
	}
}

// TestReleaseAfterLoss: a lost lease is given up as well, and its Err stays the same.
func TestReleaseAfterLoss(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = func(int) step { return silence }
		l := r.hold()
		r.ends(l, trusted, keepalive.ErrExpired)
		r.until(20 * time.Second)
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
		r.did("release", seconds(20)...)
		r.is(l.Err(), keepalive.ErrExpired)
	})
}

func TestReleaseFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.release = silence
		l, err := keepalive.Acquire(t.Context(), r, true, r.o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r.is(l.Release(ctx), context.DeadlineExceeded)
		r.is(l.Release(ctx), context.DeadlineExceeded) // ctx has already ended
		r.ends(l, time.Second, keepalive.ErrReleased)

		r.release = step{}
		if err := l.Release(t.Context()); err != nil {
			t.Errorf("another attempt: %v", err)
		}
		r.until(time.Minute)
		r.did("renew") // a lock that could not be released ends with its TTL
	})
}
