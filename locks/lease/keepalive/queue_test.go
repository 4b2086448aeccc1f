package keepalive_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

var errPlace = fmt.Errorf("%w: the place in the queue is gone", locks.ErrLost)

// lostAt makes the n-th renewal find that the place is gone.
func lostAt(n int, s step) func(int) step {
	return func(i int) step {
		if i == n {
			s.err = errPlace
			return s
		}
		return step{}
	}
}

func TestPlaceLostWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.after(time.Hour)
		r.renew = lostAt(3, step{})
		err := r.refused(t.Context(), false, errPlace)
		if errors.Is(err, context.Canceled) {
			t.Errorf("got %v, but the caller cancelled nothing", err)
		}
		r.wait(time.Minute)
		r.did("renew", seconds(3, 6, 9)...) // and none after that
		r.did("release")                    // nothing was granted
	})
}

// TestGrantRacesWithLossOfPlace: the backend grants the lock although a renewal has
// meanwhile found the place gone. The grant is undone, whichever of the two is seen
// first.
func TestGrantRacesWithLossOfPlace(t *testing.T) {
	for name, test := range map[string]struct {
		grant   time.Duration
		renewal step
	}{
		"the loss is known": {9200 * time.Millisecond, step{back: 100 * time.Millisecond}},
		"it comes after":    {9200 * time.Millisecond, step{back: 300 * time.Millisecond, deaf: true}},
		"at the same time":  {9100 * time.Millisecond, step{back: 100 * time.Millisecond, deaf: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.acquire = func(context.Context, bool) (locks.Grant, error) {
					_ = r.server.grant()
					time.Sleep(test.grant)
					return r.grant(), nil
				}
				r.renew = lostAt(3, test.renewal)
				r.refused(t.Context(), false, errPlace)
				r.did("release", max(test.grant, 9*time.Second+test.renewal.back))
				r.did("renew", seconds(3, 6, 9)...)
			})
		})
	}
}

// TestOwnFailureIsNotMaskedByTheLossItCauses: an Acquire that fails gives up its place. A
// renewal that then finds the place gone must not hide the first error.
func TestOwnFailureIsNotMaskedByTheLossItCauses(t *testing.T) {
	for name, test := range map[string]struct {
		failed  time.Duration
		renewal step
	}{
		"the loss is seen first": {9200 * time.Millisecond, step{back: 100 * time.Millisecond}},
		"it is seen after":       {9200 * time.Millisecond, step{back: 300 * time.Millisecond, deaf: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.renew = lostAt(3, test.renewal)
				r.acquire = func(context.Context, bool) (locks.Grant, error) {
					time.Sleep(test.failed)
					return locks.Grant{}, &locks.HeldError{}
				}
				r.refused(t.Context(), false, locks.ErrHeld)
			})
		})
	}
	t.Run("given up by the caller", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.renew = lostAt(3, step{back: 200 * time.Millisecond, deaf: true})
			r.acquire = func(ctx context.Context, _ bool) (locks.Grant, error) {
				<-ctx.Done()
				time.Sleep(time.Second) // gives up the place
				return locks.Grant{}, ctx.Err()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 9100*time.Millisecond)
			defer cancel()
			if err := r.refused(ctx, false, context.DeadlineExceeded); errors.Is(err, locks.ErrLost) {
				t.Errorf("got %v, which looks like a loss", err)
			}
		})
	})
}

// TestLostBeforeTheHandOver: a loss that the backend reports before the lease is handed
// over is an error, not a lease that ends at once.
func TestLostBeforeTheHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.lost <- errPlace
		r.refused(t.Context(), false, errPlace)
		r.did("release", 0)
	})
}

// TestServerDecidesOnAStalePlace: a lease that ran out by our clock while we were queued
// is ours if the server says so, counted from when it was asked, because nobody had
// relied on it.
func TestServerDecidesOnAStalePlace(t *testing.T) {
	for _, lax := range []bool{true, false} {
		t.Run(fmt.Sprintf("lax %t", lax), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.server.lax = lax
				r.acquire = r.after(59 * time.Second)
				r.renew = func(int) step {
					if r.now() < 59*time.Second {
						return step{err: errDown}
					}
					return step{}
				}
				if !lax {
					r.refused(t.Context(), false, locks.ErrLost)
					r.did("release", 59*time.Second)
					return
				}
				l := r.hold()
				r.deadline(l, r.e(59*time.Second))
			})
		})
	}
}
