package queue_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// TestUndoTakesItsTime: while the server answers, or the caller has time, most of a second is left
// for undoing an Acquire that failed.
func TestUndoTakesItsTime(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]error{"the time is up": locks.ErrHeld, "it is denied": locks.ErrDenied} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(b *bench) {
				b.hold("a")
				ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
				defer cancel()
				_, done := b.waits(ctx, "b")
				var left time.Time // written by the waiter alone
				b.Fault(func(v verb) (f Fault) {
					switch {
					case v == "look":
						f.Err = errDenied
					case v == "leave" && left.IsZero():
						left = time.Now()
						fallthrough
					case v == "leave" && time.Since(left) < undoTimeout/2:
						f.Err = errReset
					}
					return f
				})
				if want == locks.ErrDenied {
					b.Evict(jobs, 0)
				}
				if err := <-done; !errors.Is(err, want) {
					b.Errorf("acquire: %v", err)
				}
				b.with(func() {
					if n := len(b.line(jobs).entries); n > 0 && want == locks.ErrDenied || n > 1 {
						b.Errorf("there are %d entries", n)
					}
				})
			})
		})
	}
}

// TestUndoOfEnter: if it is unknown whether we are in the queue, there is most of a second for
// leaving it, although the caller's time is up; if the server refuses connections, there is not.
func TestUndoOfEnter(t *testing.T) {
	t.Parallel()
	for _, refused := range []bool{false, true} {
		t.Run(fmt.Sprint("refused ", refused), func(t *testing.T) {
			bubble(t, func(b *bench) {
				ctx, cancel := context.WithTimeout(b.Context(), 5*latency)
				defer cancel()
				start := time.Now()
				b.Fault(func(v verb) Fault {
					switch {
					case refused, v == "leave" && time.Since(start) < undoTimeout/2:
						return Fault{Err: errReset}
					case v == "enter" && len(b.under(jobs, false)) == 0:
						return Fault{LoseReply: true}
					case v == "enter":
						return Fault{Hold: ctx.Done()}
					}
					return Fault{}
				})
				if _, err := b.handle("a").Acquire(ctx, false); !errors.Is(err, locks.ErrUnavailable) {
					b.Errorf("acquire: %v", err)
				}
				if took := time.Since(start); refused && took > undoTimeout/2 {
					b.Errorf("it took %v", took)
				}
				if left := b.under(jobs, false); len(left) > 0 {
					b.Errorf("left: %q", left)
				}
			})
		})
	}
}

// TestLastWords: whose last look gets no answer learns what was wrong before that, with a look or a
// renewal.
func TestLastWords(t *testing.T) {
	t.Parallel()
	for _, wrong := range []verb{"look", "renew"} {
		t.Run(string(wrong), func(t *testing.T) {
			bubble(t, func(b *bench) {
				holder, _ := b.hold("a")
				ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
				defer cancel()
				b.renews(ctx, holder)
				l, done := b.waits(ctx, "b")
				b.renews(ctx, l)
				time.Sleep(54 * time.Second) // leases last longer than what is left
				var failed atomic.Bool
				b.Fault(func(v verb) (f Fault) {
					switch {
					case v == wrong && (v == "renew" || !failed.Swap(true)):
						f.Err = errReset
					case v == "look":
						f.Hold = ctx.Done()
					}
					return f
				})
				if err := <-done; !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), errReset.Error()) {
					b.Errorf("acquire: %v", err)
				}
			})
		})
	}
}

// TestLongLook: a wait goes on after a look that took too long.
func TestLongLook(t *testing.T) {
	bubble(t, func(b *bench) {
		b.hold("a")
		b.waits(b.Context(), "b")
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
		defer cancel()
		_, done := b.waits(ctx, "c")
		b.Next("look", Fault{Err: context.DeadlineExceeded})
		b.Evict(jobs, 1)
		time.Sleep(time.Second)
		b.Evict(jobs, 0)
		if err := <-done; err != nil {
			b.Errorf("acquire: %v", err)
		}
	})
}

// TestLookAtTheEnd: if time runs out during a look, the answer before it counts.
func TestLookAtTheEnd(t *testing.T) {
	bubble(t, func(b *bench) {
		b.hold("a")
		b.waits(b.Context(), "b")
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
		defer cancel()
		_, done := b.waits(ctx, "c")
		b.Next("look", Fault{Hold: ctx.Done()})
		b.Evict(jobs, 1)
		if err := <-done; !errors.Is(err, locks.ErrHeld) {
			b.Errorf("acquire: %v", err)
		}
	})
}

// TestWatchDenied: a wait ends if the queue may not be watched any longer.
func TestWatchDenied(t *testing.T) {
	bubble(t, func(b *bench) {
		holder, _ := b.hold("a")
		_, done := b.waits(b.Context(), "b")
		b.refuse(errDenied, "event")
		drive.Release(b.T, holder)
		if err := <-done; !errors.Is(err, locks.ErrDenied) {
			b.Errorf("acquire: %v", err)
		}
	})
}

// A blindStore is one whose entries cannot watch the queue.
type blindStore struct{ queue.Store }

type blind struct{ queue.Entry }

func (s blindStore) NewEntry(c *queue.Campaign) (queue.Entry, error) {
	p, err := s.Store.NewEntry(c)
	return blind{p}, err
}

func (blind) Await(context.Context) error { return errReset }

// TestPauses: a waiter that cannot watch the queue looks at it, less and less often.
func TestPauses(t *testing.T) {
	bubble(t, func(b *bench) {
		holder, _ := b.hold("a")
		o := b.options("b")
		l := queue.New(blindStore{b.client(&url.URL{Host: "h", Path: "/p"}, o)}, queue.Traits{Clock: clock.Bubble{}}, o)
		b.Cleanup(func() { _ = l.Close() })
		b.renews(b.Context(), holder)
		b.renews(b.Context(), l)
		time.AfterFunc(15*time.Second, func() { drive.Release(b.T, holder) })
		if _, err := l.Acquire(b.Context(), false); err != nil {
			b.Error(err)
		}
		if n := b.Verbs()["look"]; n > 60 {
			b.Errorf("it looked %d times", n)
		}
	})
}

// TestNoLease: an entry that has nothing to renew says so.
func TestNoLease(t *testing.T) {
	bubble(t, func(b *bench) {
		l, _ := b.hold("a")
		b.refuse(locks.ErrNoLease, "renew")
		if err := l.Renew(b.Context()); err != locks.ErrNoLease {
			b.Errorf("renew: %v", err)
		}
	})
}

// A telling is an entry of which a renewal shows that the queue is as it was.
type telling struct {
	queue.Entry
	c *queue.Campaign
}

type tellingStore struct{ queue.Store }

func (s tellingStore) NewEntry(c *queue.Campaign) (queue.Entry, error) {
	p, err := s.Store.NewEntry(c)
	return telling{p, c}, err
}

func (p telling) Renew(ctx context.Context) error {
	err := p.Entry.Renew(ctx)
	if err == nil {
		p.c.StillWaits()
	}
	return err
}

// TestRenewalSaysItWaits: a waiter whose renewals say that it still waits need not look for that.
func TestRenewalSaysItWaits(t *testing.T) {
	bubble(t, func(b *bench) {
		holder, _ := b.hold("a")
		o := b.options("b")
		l := queue.New(tellingStore{b.client(&url.URL{Host: "h", Path: "/p"}, o)}, queue.Traits{Clock: clock.Bubble{}}, o)
		b.Cleanup(func() { _ = l.Close() })
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		defer cancel()
		b.renews(ctx, holder)
		b.renews(ctx, l)
		b.Verbs()
		b.refuse(errReset, "look")
		if _, err := l.Acquire(ctx, false); !errors.Is(err, locks.ErrHeld) {
			b.Errorf("acquire: %v", err)
		}
	})
}
