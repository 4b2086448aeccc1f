package keepalive_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// refused campaigns, and expects the given error.
func (r *rig) refused(ctx context.Context, try bool, why error) error {
	r.t.Helper()
	l, err := keepalive.Acquire(ctx, r, try, r.o)
	if l != nil {
		r.t.Error("Acquire returned both a lease and an error, or neither")
	}
	r.is(err, why)
	return err
}

func TestFirstDeadlineCountsFromTheCall(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.atOnce(step{out: 700 * time.Millisecond, back: 2 * time.Second})
		l := r.hold()
		r.deadline(l, r.e(0))
		r.did("renew") // not due yet
		if got := l.Grant(); got != r.grant() {
			t.Errorf("grant: got %+v, want %+v", got, r.grant())
		}
		r.until(4 * time.Second)
		r.did("renew", seconds(3)...)
	})
}

func TestPlaceInQueueIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.after(40 * time.Second)
		r.renew = func(int) step { return step{out: 300 * time.Millisecond, back: 300 * time.Millisecond} }
		l := r.hold()
		r.did("renew", seconds(3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39)...)
		r.deadline(l, r.e(39*time.Second)) // not counted from 40 s, when the lock became ours
		r.until(43 * time.Second)
		r.deadline(l, r.e(42*time.Second))
		r.lives(l)
	})
}

// TestRenewalUnderWayAtTheGrant: a renewal under way when the lock becomes ours is
// cancelled, and because it was due, another follows before the start.
func TestRenewalUnderWayAtTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.after(10 * time.Second)
		r.renew = func(n int) step {
			if n == 3 {
				return silence
			}
			return step{back: 100 * time.Millisecond}
		}
		l := r.hold()
		r.did("renew", seconds(3, 6, 9, 10)...)
		r.deadline(l, r.e(10*time.Second))
	})
}

func TestFailedRenewalOfAPlaceDoesNotCount(t *testing.T) {
	for name, failure := range map[string]step{
		"error":       {err: errDown},
		"no lease":    {err: locks.ErrNoLease},
		"answer lost": {unanswered: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.acquire = r.after(11500 * time.Millisecond)
				r.renew = func(n int) step {
					if n == 3 {
						return failure
					}
					return step{}
				}
				l := r.hold()
				r.did("renew", seconds(3, 6, 9, 11.5)...)
				r.deadline(l, r.e(11500*time.Millisecond))
			})
		})
	}
}

// TestPlaceSurvivesAnOutage: an outage that the place in the queue survives has no
// effect.
func TestPlaceSurvivesAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.after(59 * time.Second)
		r.renew = func(n int) step {
			switch n {
			case 2:
				return step{err: errDown}
			case 3, 4:
				return silence
			}
			return step{}
		}
		l := r.hold()
		if lapsed, _ := r.server.ended(); lapsed {
			t.Error("the place in the queue was lost")
		}
		r.lives(l)
		r.did("renew", seconds(3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45, 48, 51, 54, 57)...)
	})
}

func TestTry(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = func(_ context.Context, try bool) (locks.Grant, error) {
			if !try {
				t.Error("try did not reach the backend")
			}
			return locks.Grant{}, &locks.HeldError{Status: locks.Status{Holder: "web1"}}
		}
		err := r.refused(t.Context(), true, locks.ErrHeld)
		var held *locks.HeldError
		if !errors.As(err, &held) || held.Status.Holder != "web1" {
			t.Errorf("got %v, want the backend's own HeldError", err)
		}
		r.wait(time.Minute)
		r.did("renew")
		r.did("release")
	})
}

// TestAmbiguousAcquire: whatever an Acquire of unknown outcome has left behind is not our
// lease, and ends by itself.
func TestAmbiguousAcquire(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.atOnce(step{unanswered: true})
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		r.renew = func(int) step { return silence }
		r.refused(ctx, false, context.DeadlineExceeded)
		if lapsed, _ := r.server.ended(); lapsed {
			t.Fatal("the lease ended before the test began")
		}
		r.wait(time.Minute)
		r.did("renew", seconds(3)...)
		if lapsed, _ := r.server.ended(); !lapsed {
			t.Error("the lease was kept alive")
		}
	})
}

func TestCancelWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.after(time.Hour)
		r.renew = func(int) step { return step{back: time.Second} }
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(9500*time.Millisecond, cancel) // during a renewal
		r.refused(ctx, false, context.Canceled)
		if got, want := r.now(), 9500*time.Millisecond; got != want {
			t.Errorf("Acquire returned at %v, want %v", got, want)
		}
		r.wait(time.Minute)
		r.did("renew", seconds(3, 6, 9)...)
	})
}

func TestLeaseOutlivesContext(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		l, err := keepalive.Acquire(ctx, r, false, r.o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release(context.Background())
		cancel()
		r.until(10 * time.Minute)
		r.lives(l)
	})
}

func TestOptionsAreChecked(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for _, o := range []keepalive.Options{{}, {Interval: 1}, {Attempt: 1}, {Interval: -1, Attempt: 1}} {
			if l, err := keepalive.Acquire(t.Context(), r, true, o); err == nil || l != nil {
				t.Errorf("%+v: got %v, %v; want an error", o, l, err)
			}
		}
		r.did("acquire")
	})
}

func TestNegativeTTLIsUndone(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.server.ttl = -1
		r.refused(t.Context(), false, locks.ErrUnavailable)
		r.did("release", 0)
	})
}
