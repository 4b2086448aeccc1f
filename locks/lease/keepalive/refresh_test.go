package keepalive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// TestRefreshBeforeTheStart: the lease of a backend without a queue began at some moment
// within Acquire, so it counts from a renewal.
func TestRefreshBeforeTheStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.polling(100 * time.Second)
		r.renew = func(int) step { return step{back: time.Second} }
		l := r.hold()
		r.deadline(l, r.e(100*time.Second))
		if got, want := r.now(), 101*time.Second; got != want {
			t.Errorf("acquired at %v, want %v", got, want)
		}
	})
}

func TestRefreshIsRetried(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.after(8 * time.Second)
		r.renew = func(n int) step {
			switch n {
			case 1, 5:
				return step{}
			case 4:
				return silence
			}
			return step{err: errDown}
		}
		l := r.hold()
		r.did("renew", seconds(3, 6, 8, 8.5, 10.5)...)
		r.deadline(l, r.e(10500*time.Millisecond))
		if r.server.lapsed {
			t.Error("the lease ran out")
		}
	})
}

// TestRefreshFromASlowServer: an answer slower than R is the freshest that such a server
// can give.
func TestRefreshFromASlowServer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.o.Interval = time.Second
		r.acquire = r.atOnce(step{back: 1500 * time.Millisecond})
		r.renew = func(int) step { return step{back: 1500 * time.Millisecond} }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l, err := keepalive.Acquire(ctx, r, false, r.o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release(context.Background())
		if got, want := r.now(), 3*time.Second; got != want {
			t.Errorf("acquired at %v, want %v", got, want)
		}
		r.deadline(l, r.e(1500*time.Millisecond))
	})
}

func TestRefreshFails(t *testing.T) {
	cancelled := errors.New("the caller gave up")
	for name, test := range map[string]struct {
		renewal step
		why     error
		at      time.Duration
	}{
		"lost":               {step{err: locks.ErrLost}, locks.ErrLost, 10 * time.Second},
		"down for a ttl":     {step{err: errDown}, errDown, 25 * time.Second},
		"silent for a ttl":   {silence, context.DeadlineExceeded, 26 * time.Second},
		"not a lease at all": {step{err: locks.ErrNoLease}, locks.ErrNoLease, 25 * time.Second},
		"cancelled":          {silence, context.Canceled, 11 * time.Second},
		"cancelled in pause": {step{err: errDown}, context.Canceled, 10200 * time.Millisecond},
		"lost in pause":      {step{err: errDown}, locks.ErrLost, 10200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.acquire = r.polling(10 * time.Second)
				r.renew = func(n int) step {
					if n <= 3 {
						return step{err: locks.ErrNoLease}
					}
					return test.renewal
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				switch {
				case test.why == context.Canceled:
					time.AfterFunc(test.at, func() { cancel(cancelled) })
				case name == "lost in pause":
					time.AfterFunc(test.at, func() { r.lost <- locks.ErrLost })
				}
				r.refused(ctx, false, test.why)
				if got := r.now(); got != test.at {
					t.Errorf("refused at %v, want %v", got, test.at)
				}
				r.did("release", test.at)
				cancel(nil)
			})
		})
	}
}

// TestLossBesideRefresh: a loss that is reported while the lease is refreshed counts.
func TestLossBesideRefresh(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.polling(10 * time.Second)
		r.renew = func(n int) step {
			if n <= 3 {
				return step{err: locks.ErrNoLease}
			}
			r.lost <- locks.ErrLost
			return step{}
		}
		r.refused(t.Context(), false, locks.ErrLost)
	})
}

// TestRefreshEndsWithContext: if the caller's context ends an attempt, no other follows.
// A select takes a random one of two ready channels, so the test repeats this often.
func TestRefreshEndsWithContext(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.acquire = r.polling(4 * time.Second)
			r.renew = func(int) step { return silence }
			ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
			defer cancel()
			r.refused(ctx, false, context.DeadlineExceeded)
			r.did("renew", seconds(3, 4)...)
		})
	}
}

// TestUndoFails: a failed undo is reported in one line, and the error keeps the class of
// the reason.
func TestUndoFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.polling(59 * time.Second)
		r.renew = func(n int) step {
			if n < 20 {
				return step{err: locks.ErrNoLease}
			}
			return step{err: fmt.Errorf("%w: gone", locks.ErrLost)}
		}
		r.release = silence
		err := r.refused(t.Context(), false, locks.ErrLost)
		if errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %q, want one line and one class", err)
		}
		if got, want := r.now(), 59*time.Second+limit; got != want {
			t.Errorf("gave up at %v, want %v", got, want)
		}
	})
}

// TestUndoOutlivesContext: a grant is undone even after the caller's context has ended.
func TestUndoOutlivesContext(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = r.polling(59 * time.Second)
		r.renew = func(int) step { return silence }
		r.release = step{out: time.Second}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := r.refused(ctx, false, context.DeadlineExceeded)
		if strings.Contains(err.Error(), "giving the lock up") || r.server.expiry != 0 {
			t.Errorf("the lock was not given up: %v", err)
		}
	})
}
