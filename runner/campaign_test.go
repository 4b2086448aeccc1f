package runner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// wait sets Options.Wait.
func (r *rig) wait(d time.Duration) { r.c.Wait = &d }

// notStarted checks a campaign that failed: its attempts, and its end.
func (r *rig) notStarted(attempts int, from, to time.Duration) {
	r.t.Helper()
	if r.job.started != nil {
		r.t.Error("the job was started")
	}
	if r.opened != attempts {
		r.t.Errorf("got %d attempts, want %d", r.opened, attempts)
	}
	r.within(r.now(), from, to)
}

var (
	errDenied = &locks.Error{Op: "acquire", Class: locks.ErrDenied, Err: errors.New("not yours")}
	errNone   = &locks.Error{Op: "acquire", Class: locks.ErrRefused, Err: errors.New("no such database")}
	errOdd    = errors.New("something odd")
	errPlace  = &locks.Error{Op: "acquire", Class: locks.ErrLost, Err: errors.New("the place is gone")}
)

// A campaign that fails ends with the right error.
func TestCampaignEnds(t *testing.T) {
	never := hangs(time.Hour, granted)
	tests := []struct {
		name     string
		try      bool
		wait     time.Duration // 0: wait for ever
		acquire  []acquisition
		want     error
		attempts int
		at       time.Duration
	}{
		{"try, held", true, 0, []acquisition{waits(0, "bob", nil)}, locks.ErrHeld, 1, 0},
		{"try, down", true, 0, []acquisition{fails(errDown)}, locks.ErrUnavailable, 1, 0},
		{"try, something odd", true, 0, []acquisition{fails(errOdd)}, locks.ErrUnavailable, 1, 0},
		{"try, lost at once", true, 0, []acquisition{fails(errPlace)}, locks.ErrUnavailable, 1, 0},
		{"try, no answer", true, 0, []acquisition{never}, locks.ErrUnavailable, 1, seconds(5)},
		{"try, denied", true, 0, []acquisition{fails(errDenied)}, locks.ErrDenied, 1, 0},

		{"held", false, seconds(10), []acquisition{waits(time.Hour, "bob", nil)}, locks.ErrHeld, 1, seconds(10)},
		{"no answer", false, seconds(10), []acquisition{never}, locks.ErrUnavailable, 1, seconds(10)},
		{"down, then no answer", false, seconds(10), []acquisition{fails(errDown), never}, locks.ErrUnavailable, 2, seconds(10)},
		{"down, then held", false, seconds(10), []acquisition{fails(errDown), waits(time.Hour, "bob", nil)}, locks.ErrHeld, 2, seconds(10)},

		// An answer counts for as long as the lease of the holder may have lasted since.
		{"held, then down", false, seconds(20), []acquisition{waits(seconds(1), "bob", fails(errDown)), hangs(seconds(18.8), fails(errDown))}, locks.ErrUnavailable, 2, seconds(20)},
		{"held, then down for a moment", false, seconds(10), []acquisition{waits(seconds(1), "bob", fails(errDown)), hangs(seconds(8.8), fails(errDown))}, locks.ErrHeld, 2, seconds(10)},
		{"held, and down as the wait ends", false, seconds(20), []acquisition{waits(seconds(1), "bob", stubborn(hangs(seconds(19), fails(errDown))))}, locks.ErrUnavailable, 1, seconds(20)},
		{"held, then something odd", false, seconds(20), []acquisition{waits(seconds(1), "bob", fails(errOdd)), never}, locks.ErrUnavailable, 2, seconds(20)},
		{"held, then the place is lost, then no answer", false, seconds(20), []acquisition{waits(seconds(1), "bob", fails(errPlace)), never}, locks.ErrUnavailable, 2, seconds(20)},
		{"held, then the place is lost, then no answer for a moment", false, seconds(10), []acquisition{waits(seconds(1), "bob", fails(errPlace)), never}, locks.ErrHeld, 2, seconds(10)},
		{"held long ago, and the backend says no more", false, seconds(20), []acquisition{waits(time.Hour, "bob", nil)}, locks.ErrUnavailable, 1, seconds(20)},
		{"held to the end", false, seconds(20), []acquisition{waits(seconds(20), "bob", stubborn(fails(&locks.HeldError{})))}, locks.ErrHeld, 1, seconds(20)},
		{"held, by a shorter lease, then down", false, seconds(5), []acquisition{waitsFor(locks.Status{Held: true, TTL: seconds(2)}, seconds(1), fails(errDown)), hangs(seconds(3.8), fails(errDown))}, locks.ErrUnavailable, 2, seconds(5)},
		{"the end itself is a failure", false, seconds(10), []acquisition{stubborn(hangs(seconds(10), fails(errDown)))}, locks.ErrUnavailable, 1, seconds(10)},

		// The wait is shorter than the way to the first answer: only that one counts.
		{"short, held", false, seconds(0.001), []acquisition{hangs(seconds(0.5), waits(time.Hour, "bob", nil))}, locks.ErrHeld, 1, seconds(0.5)},
		{"short, held, polled", false, seconds(0.001), []acquisition{hangs(seconds(0.5), fails(&locks.HeldError{}))}, locks.ErrHeld, 1, seconds(0.5)},
		{"short, down", false, seconds(0.001), []acquisition{hangs(seconds(0.5), fails(errDown)), granted}, locks.ErrUnavailable, 1, seconds(0.5)},
		{"short, something odd", false, seconds(0.001), []acquisition{hangs(seconds(0.5), fails(errOdd)), granted}, locks.ErrUnavailable, 1, seconds(0.5)},
		{"short, denied", false, seconds(0.001), []acquisition{hangs(seconds(0.5), fails(errDenied))}, locks.ErrDenied, 1, seconds(0.5)},
		{"short, no answer", false, seconds(0.001), []acquisition{never}, locks.ErrUnavailable, 1, seconds(1)},
		{"short, held at once", false, seconds(1), []acquisition{waits(time.Hour, "bob", nil)}, locks.ErrHeld, 1, seconds(1)},
		{"short, down at once", false, seconds(0.9), []acquisition{fails(errDown), never}, locks.ErrUnavailable, 2, seconds(0.9)},

		{"denied", false, 0, []acquisition{fails(errDenied)}, locks.ErrDenied, 1, 0},
		{"down, then denied", false, 0, []acquisition{fails(errDown), fails(errDenied)}, locks.ErrDenied, 2, seconds(0.2)},
		{"held, then denied", false, 0, []acquisition{waits(seconds(1), "bob", fails(errDenied))}, locks.ErrDenied, 1, seconds(1)},
		{"refused", false, 0, []acquisition{fails(errNone)}, locks.ErrUnavailable, 1, 0},
		{"down, then refused", false, seconds(10), []acquisition{fails(errDown), fails(errNone), waits(time.Hour, "bob", nil)}, locks.ErrHeld, 3, seconds(10)},
		{"held, then refused", false, seconds(10), []acquisition{waits(seconds(1), "bob", fails(errNone)), waits(time.Hour, "bob", nil)}, locks.ErrHeld, 2, seconds(10)},
		{"usage", false, 0, []acquisition{fails(&locks.UsageError{What: "no"})}, locks.ErrUsage, 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.c.Try, r.acquire = test.try, test.acquire
				if test.wait > 0 {
					r.wait(test.wait)
				}
				exit, err := r.run()
				r.failed(exit, err, test.want)
				r.notStarted(test.attempts, test.at-seconds(0.2), test.at)
			})
		})
	}
}

func TestHeldSaysByWhom(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.wait(seconds(10))
		r.acquire = []acquisition{waits(time.Hour, "bob\n", nil)}
		_, err := r.run()
		if want := `held by bob\n`; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		r.quiet()
	})
}

// TestLastWords: after an outage, the error is the last that says more than that the time was up.
func TestLastWords(t *testing.T) {
	gone := &locks.Error{Op: "acquire", Backend: "model", Name: "nightly", Err: context.DeadlineExceeded}
	why := &locks.Error{Op: "acquire", Backend: "model", Name: "nightly", Err: fmt.Errorf("%w (no quorum)", context.DeadlineExceeded), Hint: "help"}
	for name, test := range map[string]struct {
		acquire []acquisition
		want    string
	}{
		"nothing":     {[]acquisition{fails(gone)}, "unavailable: model://server gave no answer in time"},
		"in the end":  {[]acquisition{fails(errDown), stubborn(hangs(seconds(20), fails(why)))}, "unavailable: " + why.Error()},
		"before that": {[]acquisition{fails(errOdd), fails(errDown), hangs(time.Hour, nil)}, errDown.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.wait(seconds(20))
				r.acquire = test.acquire
				if _, err := r.run(); err == nil || err.Error() != test.want {
					t.Errorf("got %v, want %s", err, test.want)
				}
			})
		})
	}
}

// Each attempt has its own handle, which is closed before the next attempt.
func TestCampaignAnew(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = []acquisition{waits(seconds(1), "bob", fails(errPlace)), granted}
		r.job.begin = runs(seconds(1), 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		at := r.when("start")
		r.within(at, seconds(1.1), seconds(1.2))
		end := (at + time.Second).String()
		r.did("0s open", "0s acquire", "1s close", at.String()+" open", at.String()+" acquire", at.String()+" start", end+" exit", end+" release", end+" close")
		r.quiet()
	})
}

// An error of Open is final, unless it only says that the wait is over.
func TestOpenFails(t *testing.T) {
	missing := &locks.Error{Op: "open", Class: locks.ErrUnavailable, Err: errors.New("no helper")}
	for _, want := range []error{missing, &locks.UsageError{What: "no"}, errOdd} {
		t.Run(want.Error(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.host.open = func(context.Context, func(locks.Waiting)) (locks.Lock, error) { return nil, want }
				if _, err := r.run(); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
				r.notStarted(0, 0, 0)
			})
		})
	}
	t.Run("in time", func(t *testing.T) {
		bubble(t, func(t *testing.T, r *rig) {
			r.wait(seconds(3))
			r.host.open = func(ctx context.Context, _ func(locks.Waiting)) (locks.Lock, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			exit, err := r.run()
			r.failed(exit, err, locks.ErrUnavailable)
			r.notStarted(0, seconds(3), seconds(3))
		})
	})
}

// A lock that is granted at the very moment at which the wait ends is ours.
func TestAcquiredAsTheWaitEnds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.wait(seconds(2))
		r.acquire = []acquisition{stubborn(hangs(seconds(2.5), granted))}
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
	})
}

// So is a lock whose grant is the first answer, although the wait was over before.
func TestAcquiredAfterAShortWait(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.wait(seconds(0.001))
		r.acquire = []acquisition{hangs(seconds(0.5), granted)}
		r.job.begin = runs(time.Second, 0)
		exit, err := r.run()
		r.ended(exit, err, proc.Exit{})
		r.within(r.when("start"), seconds(0.5), seconds(0.5))
		r.quiet()
	})
}

// The end of the caller's context ends the campaign, but not the job.
func TestContext(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		r.acquire = []acquisition{waits(time.Hour, "bob", nil)}
		exit, err := Run(ctx, &r.host, &r.watch, r.c)
		r.failed(exit.Exit, err, locks.ErrHeld)
		r.notStarted(1, seconds(2), seconds(2))
	})
}

func TestContextAfterTheStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		r.job.begin = runs(seconds(4), 0)
		exit, err := Run(ctx, &r.host, &r.watch, r.c)
		r.ended(exit.Exit, err, proc.Exit{})
	})
}

// CampaignEnded is called before the job starts, or before Run returns.
func TestCampaignEnded(t *testing.T) {
	for name, acquire := range map[string]acquisition{"won": granted, "failed": fails(errDenied)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.acquire = []acquisition{acquire}
				r.job.begin = runs(seconds(1), 0)
				calls := 0
				r.watch.campaignEnded = func() {
					if calls++; r.job.started != nil {
						t.Error("CampaignEnded was called after the start")
					}
				}
				_, _ = r.run()
				if calls != 1 {
					t.Errorf("CampaignEnded was called %d times, want once", calls)
				}
			})
		})
	}
}

// Each change of the wait is passed on.
func TestWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.acquire = []acquisition{waits(seconds(1), "bob", waits(seconds(1), "bob", waits(seconds(1), "carol", granted)))}
		r.job.begin = runs(seconds(1), 0)
		var got []string
		r.watch.waiting = func(w locks.Waiting) { got = append(got, w.Status.Holder) }
		_, _ = r.run()
		if join(got) != "bob, bob, carol" {
			t.Errorf("got %q", got)
		}
	})
}
