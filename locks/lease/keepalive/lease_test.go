package keepalive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

func TestTrusted(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		15 * time.Second: trusted,
		2 * time.Second:  1998 * time.Millisecond,
		24 * time.Hour:   21*time.Hour - 84400*time.Millisecond,
		0:                0,
	} {
		if got := keepalive.Trusted(ttl); got != want {
			t.Errorf("Trusted(%v): got %v, want %v", ttl, got, want)
		}
	}
}

// TestCadence checks that renewals are sent R apart, however long the answers take.
func TestCadence(t *testing.T) {
	for _, slow := range []time.Duration{0, 10 * time.Millisecond, 1999 * time.Millisecond} {
		t.Run(slow.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.renew = func(int) step { return step{out: slow / 2, back: slow - slow/2} }
				l := r.hold()
				r.until(62500 * time.Millisecond)
				r.lives(l)
				r.did("renew", seconds(3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45, 48, 51, 54, 57, 60)...)
			})
		})
	}
}

func TestRequestsPerMinute(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.hold()
		r.until(time.Minute)
		if got, most := len(r.calls), int(time.Minute/interval)+1; got > most {
			t.Errorf("a holder sent %d requests in a minute, want at most %d", got, most)
		}
	})
}

func TestDeadlineCountsFromTheSending(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = func(int) step { return step{out: time.Second, back: 900 * time.Millisecond} }
		l := r.hold()
		r.until(4800 * time.Millisecond)
		r.deadline(l, r.e(0)) // the server has renewed, but we do not know that yet
		r.until(5 * time.Second)
		r.deadline(l, r.e(3*time.Second))
		want := keepalive.Renewal{Sent: r.boot.at(3 * time.Second), Done: r.boot.at(4900 * time.Millisecond), Left: 10085 * time.Millisecond, Deadline: r.e(3 * time.Second)}
		if len(r.renewals) != 1 || r.renewals[0] != want {
			t.Errorf("renewals: got %v, want %v", r.renewals, want)
		}
	})
}

// TestOutageInsideTheWindow: an outage shorter than the window has no effect; attempts
// are R/6 apart.
func TestOutageInsideTheWindow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = func(n int) step {
			if n <= 4 {
				return step{err: errDown}
			}
			return step{}
		}
		l := r.hold()
		r.until(9 * time.Second)
		r.lives(l)
		r.did("renew", seconds(3, 3.5, 4, 4.5, 5, 8)...)
		r.deadline(l, r.e(8*time.Second))

		failed := keepalive.Renewal{Sent: r.boot.at(4 * time.Second), Done: r.boot.at(4 * time.Second), Left: 10985 * time.Millisecond, Deadline: r.e(0), Err: errDown}
		if got := r.renewals[2]; got != failed {
			t.Errorf("the third renewal: got %v, want %v", got, failed)
		}
		const failure = "renewal failed, will retry"
		if got, want := r.logged(slog.LevelInfo), []string{failure, failure, "renewing again"}; !slices.Equal(got, want) {
			t.Errorf("logged %q, want %q", got, want)
		}
		if got := r.logged(slog.LevelWarn); !slices.Equal(got, []string{failure}) {
			t.Errorf("warned %q of four failures in a row, want once", got)
		}
	})
}

// TestWarnings: cron mails a warning. One failure that the next attempt mends is none, unless less
// than half of the lease was left.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for answer, want := range map[time.Duration]int{0: 0, 5 * time.Second: 1} {
		t.Run(answer.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.renew = func(n int) step {
					if n == 1 {
						return step{out: answer, err: errDown, deaf: true}
					}
					return step{}
				}
				l := r.hold()
				r.until(11 * time.Second)
				r.lives(l)
				if got := r.logged(slog.LevelWarn); len(got) != want {
					t.Errorf("warned %q, want %d", got, want)
				}
			})
		})
	}
}

// TestErrorsUntilExpiry checks that errors never move the deadline, and that the term
// ends at the deadline to the nanosecond.
func TestErrorsUntilExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = func(int) step { return step{err: errDown} }
		l := r.hold()
		r.ends(l, trusted, keepalive.ErrExpired)
		r.is(l.Err(), locks.ErrLost)
		r.deadline(l, r.e(0))
		tried := len(r.calls)
		r.wait(time.Minute)
		if len(r.calls) != tried {
			t.Errorf("calls after the expiry: %v", r.calls[tried:])
		}
	})
}

// TestSilence: against a silent server or helper, n = 2 attempts of A end before D_signal,
// which is 8 s before the end of the lease, and no attempt outlasts E.
func TestSilence(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = func(int) step { return silence }
		l := r.hold()
		r.ends(l, trusted, keepalive.ErrExpired)
		r.did("renew", seconds(3, 5, 7, 9, 11, 13)...)
		for _, c := range r.calls[1:] {
			if want := min(limit, trusted-c.at); c.limit != want {
				t.Errorf("the attempt at %v had %v, want %v", c.at, c.limit, want)
			}
		}
		if second := r.renewals[1].Done; second > r.e(0).Add(-7*time.Second) {
			t.Errorf("the second attempt ended only at %v", second.Sub(epoch))
		}
	})
}

// TestLostAnswers: the server has renewed each time, but we cannot know that.
func TestLostAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = func(int) step { return step{unanswered: true} }
		l := r.hold()
		r.ends(l, trusted, keepalive.ErrExpired)
		r.deadline(l, r.e(0))
		if _, end := r.server.ended(); time.Duration(end) != 28*time.Second {
			t.Errorf("the server's lease ends at %v, so this tests nothing", time.Duration(end))
		}
	})
}

// TestAnswerAfterExpiry: a backend that ignores its context cannot delay the end of the
// term, and its later success does not bring the lease back.
func TestAnswerAfterExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.server.lax = true
		r.renew = func(int) step { return step{out: 12 * time.Second, back: 8 * time.Second, deaf: true} }
		l := r.hold()
		r.ends(l, trusted, keepalive.ErrExpired)
		r.until(time.Minute)
		r.did("renew", seconds(3)...)
		r.deadline(l, r.e(0))
		r.is(l.Err(), keepalive.ErrExpired)
		if len(r.renewals) != 0 || len(r.logged(slog.LevelInfo)) != 0 {
			t.Errorf("renewals after the end: %v, %q", r.renewals, r.logged(slog.LevelInfo))
		}
	})
}

func TestRenewalFindsTheLeaseLost(t *testing.T) {
	lost := fmt.Errorf("%w: the key was deleted", locks.ErrLost)
	bubble(t, func(t *testing.T, r *rig) {
		r.renew = func(n int) step {
			if n == 2 {
				return step{err: lost, back: 70 * time.Millisecond}
			}
			return step{}
		}
		l := r.hold()
		r.ends(l, 6070*time.Millisecond, lost)
		if errors.Is(l.Err(), keepalive.ErrExpired) {
			t.Errorf("got %v, which looks like an expiry", l.Err())
		}
		r.until(time.Minute)
		r.did("renew", seconds(3, 6)...)
		if got := r.renewals[1].Err; got != lost {
			t.Errorf("Renewed got %v, want %v", got, lost)
		}
	})
}

// TestNoticeOfLoss: a loss reported by the backend ends the term at once, even during a
// renewal, and whatever the error is.
func TestNoticeOfLoss(t *testing.T) {
	deleted := fmt.Errorf("%w: the key was deleted", locks.ErrLost)
	for name, test := range map[string]struct {
		notice error
		renew  step
	}{
		"between renewals": {deleted, step{}},
		"during a renewal": {deleted, silence},
		"of no class":      {errDown, step{}},
		"closed":           {nil, step{}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.renew = func(int) step { return test.renew }
				l := r.hold()
				r.until(4 * time.Second)
				if test.notice == nil {
					close(r.lost)
				} else {
					r.lost <- test.notice
				}
				r.ends(l, 4*time.Second, locks.ErrLost)
				if n := r.renewing.Load(); n != 0 {
					t.Errorf("%d renewals are still under way", n)
				}
				r.until(time.Minute)
				r.did("renew", seconds(3)...)
			})
		})
	}
}

// TestNoTTL: a lock that cannot end while we live has no deadline and is not renewed, but
// can be lost.
func TestNoTTL(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.server.ttl = 0
		r.acquire = r.polling(10 * time.Second)
		r.renew = func(int) step { return step{err: locks.ErrNoLease} }
		l := r.hold()
		r.until(time.Hour)
		r.lives(l)
		if e, ok := l.Deadline(); ok {
			t.Errorf("deadline: got %v, want none", e)
		}
		r.did("renew", seconds(3, 6, 9)...) // while Acquire waited
		r.lost <- locks.ErrLost
		r.ends(l, time.Hour, locks.ErrLost)
	})
}

// A permanent declares in advance that its lock cannot end.
type permanent struct{ *rig }

func (permanent) Permanent() bool { return true }

func TestPermanentIsNotRenewedWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.server.ttl = 0
		r.acquire = r.polling(time.Hour)
		l, err := keepalive.Acquire(t.Context(), permanent{r}, false, r.o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Release(context.Background())
		r.did("renew")
	})
}

// TestBlockedReport: a blocked Renewed or log does not keep the lease from ending.
func TestBlockedReport(t *testing.T) {
	for name, test := range map[string]struct {
		renewal step
		end     time.Duration
		why     error
	}{
		"of a success": {step{}, 3*time.Second + trusted, keepalive.ErrExpired},
		"of a failure": {step{err: errDown}, trusted, keepalive.ErrExpired},
		"of the loss":  {step{err: locks.ErrLost}, 3 * time.Second, locks.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				blocked := make(chan struct{})
				r.renew = func(int) step { return test.renewal }
				r.o.Renewed = func(keepalive.Renewal) { <-blocked }
				l := r.hold()
				r.ends(l, test.end, test.why)

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := l.Release(ctx); err != nil {
					t.Errorf("release: %v", err)
				}
				r.did("release", test.end)
				close(blocked)
			})
		})
	}
}

// TestAnswerAtTheEnd: at E itself a success comes too late. A select takes a random one of two
// ready channels, so the test repeats this often.
func TestAnswerAtTheEnd(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.renew = func(int) step { return step{out: time.Second, back: trusted - interval - time.Second, deaf: true} }
			l := r.hold()
			r.ends(l, trusted, keepalive.ErrExpired)
			r.deadline(l, r.e(0))
		})
	}
}

// A plain lock fails its first renewal. Others close renewed.
type plain struct {
	locks.Lock
	n       atomic.Int32
	renewed chan struct{}
}

func (p *plain) Acquire(context.Context, bool) (locks.Grant, error) {
	return locks.Grant{Token: token, TTL: time.Minute}, nil
}

func (p *plain) Renew(context.Context) error {
	switch p.n.Add(1) {
	case 1:
		return errDown
	case 2:
		close(p.renewed)
	}
	return nil
}

func (p *plain) Lost() <-chan error            { return nil }
func (p *plain) Release(context.Context) error { return nil }

// TestDefaults: an interval and a limit are enough.
func TestDefaults(t *testing.T) {
	t.Parallel()
	p := &plain{renewed: make(chan struct{})}
	l, err := keepalive.Acquire(t.Context(), p, true, keepalive.Options{Interval: time.Millisecond, Attempt: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	<-p.renewed
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
