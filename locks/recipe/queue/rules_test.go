package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A bench is a server with one lock, in simulated time.
type bench struct {
	*testing.T
	*sim
	log drive.Log
}

const jobs = "/p\x00jobs"

func bubble(t *testing.T, f func(b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(&bench{T: t, sim: newSim()}) })
}

func (b *bench) options(holder string) locks.Options {
	return locks.Options{
		Name: "jobs", Holder: holder, TTL: 10 * time.Second, ConnectTimeout: 4 * time.Second,
		Logger: slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// handle opens a handle, and closes it when the test ends.
func (b *bench) handle(holder string) *queue.Lock {
	b.Helper()
	l, _ := b.open(context.Background(), &url.URL{Host: "h", Path: "/p"}, b.options(holder))
	b.Cleanup(func() { _ = l.Close() })
	return l.(*queue.Lock)
}

// hold opens a handle, acquires the lock, and waits until the handle watches its entry.
func (b *bench) hold(holder string) (*queue.Lock, locks.Grant) {
	b.Helper()
	l := b.handle(holder)
	g := drive.Hold(b.T, l)
	time.Sleep(time.Second)
	return l, g
}

// waits begins an Acquire that waits.
func (b *bench) waits(ctx context.Context, holder string) (*queue.Lock, <-chan error) {
	done, ended := make(chan error, 1), make(chan struct{})
	b.Cleanup(func() { <-ended }) // after the handle is closed
	l := b.handle(holder)
	go func() {
		defer close(ended)
		_, err := l.Acquire(ctx, false)
		done <- err
	}()
	time.Sleep(time.Second)
	return l, done
}

// lost checks that a loss is reported once, and ends the handle.
func (b *bench) lost(l *queue.Lock) {
	b.Helper()
	synctest.Wait()
	select {
	case err := <-l.Lost():
		if !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), errGone.Error()) {
			b.Errorf("lost: %v", err)
		}
	default:
		b.Error("the loss was not reported")
	}
	if err := l.Renew(b.Context()); !errors.Is(err, locks.ErrLost) {
		b.Errorf("renew: %v", err)
	}
	if _, err := l.Acquire(b.Context(), true); !errors.Is(err, locks.ErrLost) {
		b.Errorf("acquire after the loss: %v", err)
	}
	drive.Release(b.T, l)
	select {
	case err := <-l.Lost():
		b.Errorf("reported again: %v", err)
	default:
	}
}

// refuse makes all requests of some kinds fail.
func (b *bench) refuse(err error, verbs ...verb) {
	b.Fault(func(v verb) Fault {
		if slices.Contains(verbs, v) {
			return Fault{Err: err}
		}
		return Fault{}
	})
}

// TestLosses: whatever finds a loss reports it.
func TestLosses(t *testing.T) {
	t.Parallel()
	for name, learn := range map[string]func(*bench, *queue.Lock){
		"by the watch":  func(b *bench, _ *queue.Lock) { b.Fault(nil); time.Sleep(2 * time.Second) },
		"by a renewal":  func(b *bench, l *queue.Lock) { _ = l.Renew(b.Context()) },
		"by the record": func(b *bench, l *queue.Lock) { _ = l.SetRecord(b.Context(), []byte("x")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(b *bench) {
				l, _ := b.hold("a")
				b.refuse(errReset, "event")
				b.Evict(jobs, 0)
				time.Sleep(time.Second)
				learn(b, l)
				b.lost(l)
			})
		})
	}
}

// TestLossReportedOnce: two requests find the same loss, and it is reported once.
func TestLossReportedOnce(t *testing.T) {
	bubble(t, func(b *bench) {
		l, _ := b.hold("a")
		held, done := make(chan struct{}), make(chan error, 2)
		b.Fault(func(v verb) Fault {
			if v == "event" {
				return Fault{Err: errReset}
			}
			return Fault{Hold: held}
		})
		go func() { done <- l.Renew(b.Context()) }()
		go func() { done <- l.SetRecord(b.Context(), []byte("x")) }()
		time.Sleep(time.Second)
		b.Evict(jobs, 0)
		close(held)
		for range cap(done) {
			if err := <-done; !errors.Is(err, locks.ErrLost) {
				b.Errorf("got %v; want ErrLost", err)
			}
		}
		b.lost(l)
	})
}

// TestPlaceLost: a waiter whose entry is gone learns that, by its watch or when it looks.
func TestPlaceLost(t *testing.T) {
	t.Parallel()
	for _, seen := range []bool{true, false} {
		t.Run(fmt.Sprint("watched ", seen), func(t *testing.T) {
			bubble(t, func(b *bench) {
				b.hold("a")
				l, done := b.waits(b.Context(), "b")
				if !seen {
					b.refuse(errReset, "event")
				}
				b.Evict(jobs, 1)
				if !seen {
					b.Evict(jobs, 0)
				}
				start := time.Now()
				if err := <-done; !errors.Is(err, locks.ErrLost) || time.Since(start) > time.Second {
					b.Errorf("acquire, after %v: %v", time.Since(start), err)
				}
				b.lost(l)
			})
		})
	}
}

// TestGoneAtOnce: an entry that is gone when the answer to its creation arrives is lost.
func TestGoneAtOnce(t *testing.T) {
	bubble(t, func(b *bench) {
		l := b.handle("a")
		b.Next("enter", Fault{Err: errGone})
		if _, err := l.Acquire(b.Context(), false); !errors.Is(err, locks.ErrLost) {
			b.Errorf("acquire: %v", err)
		}
		b.lost(l)
	})
}

// TestCannotUndo: if a campaign cannot be undone, that is a warning, and a release tries again.
func TestCannotUndo(t *testing.T) {
	bubble(t, func(b *bench) {
		holder, _ := b.hold("a")
		ctx, cancel := context.WithCancel(b.Context())
		l, done := b.waits(ctx, "b")
		b.refuse(errReset, "leave")
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			b.Errorf("acquire: %v", err)
		}
		if n := strings.Count(b.log.String(), "level=WARN msg=\"cannot undo"); n != 1 {
			b.Errorf("logged %d times", n)
		}
		if err := l.Renew(b.Context()); err != locks.ErrNoLease {
			b.Errorf("renew: %v", err)
		}
		b.Fault(nil)
		drive.Release(b.T, l)
		drive.Release(b.T, holder)
		if all := b.under(jobs, false); len(all) != 0 {
			b.Errorf("there are %q", all)
		}
	})
}

// TestNothingToUndo: without a session, a failure to end it is not a warning.
func TestNothingToUndo(t *testing.T) {
	bubble(t, func(b *bench) {
		l := b.handle("a")
		b.refuse(errReset, "enter", "leave")
		if _, err := l.Acquire(b.Context(), false); !errors.Is(err, locks.ErrUnavailable) {
			b.Errorf("acquire: %v", err)
		}
		if strings.Contains(b.log.String(), "level=WARN") {
			b.Error(b.log.String())
		}
	})
}

// TestReleaseBesideRenew: a renewal that is under way when the lock is released fails.
func TestReleaseBesideRenew(t *testing.T) {
	bubble(t, func(b *bench) {
		l, _ := b.hold("a")
		held := make(chan struct{})
		b.Next("renew", Fault{Hold: held, Err: errReset})
		done := make(chan error, 1)
		go func() { done <- l.Renew(b.Context()) }()
		time.Sleep(time.Second)
		drive.Release(b.T, l)
		close(held)
		if err := <-done; !errors.Is(err, locks.ErrLost) {
			b.Errorf("renew: %v", err)
		}
	})
}

// TestReleaseBesideAcquire: an Acquire during which Release is called is not granted, and is
// undone. Before there is a session there is nothing to renew.
func TestReleaseBesideAcquire(t *testing.T) {
	bubble(t, func(b *bench) {
		held := make(chan struct{})
		b.Next("enter", Fault{Hold: held})
		l, done := b.waits(b.Context(), "a")
		if err := l.Renew(b.Context()); err != locks.ErrNoLease || b.Verbs()["renew"] > 0 {
			b.Errorf("renew: %v", err)
		}
		drive.Release(b.T, l)
		close(held)
		if err := <-done; !errors.Is(err, locks.ErrLost) {
			b.Errorf("acquire: %v", err)
		}
		if all := b.under(jobs, false); len(all) > 0 {
			b.Errorf("left: %q", all)
		}
	})
}

// TestOneLeaves: only one call of Leave runs at a time.
func TestOneLeaves(t *testing.T) {
	bubble(t, func(b *bench) {
		l, _ := b.hold("a")
		held := make(chan struct{})
		b.Fault(func(v verb) Fault {
			if v == "leave" {
				return Fault{Hold: held}
			}
			return Fault{}
		})
		b.Verbs()
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- l.Release(b.Context()) }()
		}
		time.Sleep(time.Second)
		if n := b.Verbs()["leave"]; n != 1 {
			b.Errorf("%d calls of Leave at once", n)
		}
		close(held)
		if err := errors.Join(<-done, <-done); err != nil {
			b.Error(err)
		}
	})
}

// TestCloseWaits: Close waits for what runs in the background.
func TestCloseWaits(t *testing.T) {
	bubble(t, func(b *bench) {
		l, _ := b.hold("a")
		held, closed := make(chan struct{}), make(chan error, 1)
		b.Next("event", Fault{Hold: held})
		b.Evict(jobs, 0)
		time.Sleep(time.Second)
		go func() { closed <- l.Close() }()
		time.Sleep(time.Second)
		if len(closed) > 0 {
			b.Error("Close did not wait")
		}
		close(held)
		if err := <-closed; err != nil {
			b.Error(err)
		}
	})
}

// TestPatience: a waiter whose time runs out learns who holds the lock.
func TestPatience(t *testing.T) {
	bubble(t, func(b *bench) {
		b.hold("a")
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
		defer cancel()
		_, done := b.waits(ctx, "b")
		if err := <-done; !errors.Is(err, locks.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "held by a") {
			b.Errorf("acquire: %v", err)
		}
	})
}

// renews renews every 3 s, like the core.
func (b *bench) renews(ctx context.Context, l *queue.Lock) {
	go func() {
		for backoff.Sleep(ctx, 3*time.Second) == nil {
			_ = l.Renew(ctx)
		}
	}()
}

// TestOutage: whose time runs out in an outage knows no holder, even if its watch has not
// failed, unless the last answer is younger than a lease. It learns what is wrong, without
// waiting much longer than asked.
func TestOutage(t *testing.T) {
	for _, tt := range []struct {
		what  string
		err   error // nil: there is no answer
		after time.Duration
		want  error
		text  string
	}{
		{"refused", errReset, 10 * time.Second, locks.ErrUnavailable, "deadline exceeded (the connection was reset)"},
		{"silent", nil, 10 * time.Second, locks.ErrUnavailable, "deadline exceeded"},
		{"refused at the end", errReset, 59 * time.Second, locks.ErrHeld, "held by a"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			bubble(t, func(b *bench) {
				holder, _ := b.hold("a")
				ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
				defer cancel()
				b.renews(ctx, holder)
				start := time.Now()
				l, done := b.waits(ctx, "b")
				b.renews(ctx, l)
				time.Sleep(tt.after)
				if tt.err != nil {
					b.Fault(func(verb) Fault { return Fault{Err: tt.err} })
				} else {
					defer b.path("h").Cut(lockstest.CutAll)()
				}
				err := <-done
				if !errors.Is(err, tt.want) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tt.text) {
					b.Errorf("acquire: %v; want %v, and %q", err, tt.want, tt.text)
				}
				if took := time.Since(start) - time.Minute; took > undoTimeout/4+10*latency && tt.want != locks.ErrHeld {
					b.Errorf("the wait lasted %v too long", took)
				}
			})
		})
	}
}

// undoTimeout is that of the recipe.
const undoTimeout = time.Second

// TestLastLook: a waiter to which nothing was reported looks once more, shortly before its time
// is up. If it was sooner, there is no need.
func TestLastLook(t *testing.T) {
	for wait, want := range map[time.Duration]int{9 * time.Second: 0, time.Minute: 1} {
		t.Run(wait.String(), func(t *testing.T) {
			bubble(t, func(b *bench) {
				holder, _ := b.hold("a")
				ctx, cancel := context.WithTimeout(b.Context(), wait)
				defer cancel()
				b.renews(ctx, holder)
				l, done := b.waits(ctx, "b")
				b.renews(ctx, l)
				b.Verbs()
				if err := <-done; !errors.Is(err, locks.ErrHeld) {
					b.Errorf("acquire: %v", err)
				}
				if got := b.Verbs()["look"]; got != want {
					b.Errorf("%d looks, want %d", got, want)
				}
				if strings.Contains(b.log.String(), "disturbed") {
					b.Error("that is taken for a disturbance")
				}
			})
		})
	}
}

// TestDisturbed: a wait goes on after transient errors, which are logged once. Another error ends
// it.
func TestDisturbed(t *testing.T) {
	bubble(t, func(b *bench) {
		holder, _ := b.hold("a")
		l, done := b.waits(b.Context(), "b")
		_, denied := b.waits(b.Context(), "c")
		b.refuse(errReset, "event", "look")
		drive.Release(b.T, holder)
		time.Sleep(4 * time.Second)
		b.Fault(nil)
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		if n := strings.Count(b.log.String(), "the wait is disturbed"); n != 1 {
			b.Errorf("logged %d times", n)
		}
		b.refuse(errDenied, "look")
		drive.Release(b.T, l)
		if err := <-denied; !errors.Is(err, locks.ErrDenied) {
			b.Errorf("acquire: %v", err)
		}
	})
}

// TestSinceIsOfTheTerm: after a wait, the entry says since when it leads; to change that is not a
// loss. Each waiter learns who holds the lock.
func TestSinceIsOfTheTerm(t *testing.T) {
	bubble(t, func(b *bench) {
		holder, g := b.hold("a")
		o := b.options("b")
		waiting := make(chan locks.Waiting, 9)
		o.Waiting = func(w locks.Waiting) { waiting <- w }
		l, _ := b.open(b.Context(), &url.URL{Host: "h", Path: "/p"}, o)
		defer l.Close()
		done := make(chan error, 1)
		go func() { _, err := l.Acquire(b.Context(), false); done <- err }()
		if w := <-waiting; w.Status.Holder != "a" || w.Status.Token != g.Token || w.Status.Waiters != 1 || w.Position != 1 || w.Lease != o.TTL {
			b.Errorf("reported %+v", w)
		}
		time.Sleep(8 * time.Second)
		drive.Release(b.T, holder)
		led := time.Now()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		time.Sleep(time.Second)
		s, err := l.(locks.Inspector).Inspect(b.Context())
		if err != nil || s.Holder != "b" || s.Since.Before(led) {
			b.Errorf("%+v, %v; want it to hold since %v", s.Status, err, led)
		}
		drive.Renew(b.T, l)
	})
}

// TestLossAfterWait: who leads after a wait finds a loss when it writes its label again.
func TestLossAfterWait(t *testing.T) {
	bubble(t, func(b *bench) {
		holder, _ := b.hold("a")
		l, done := b.waits(b.Context(), "b")
		drive.Release(b.T, holder)
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		b.refuse(errReset, "event")
		b.Evict(jobs, 0)
		time.Sleep(time.Second)
		b.lost(l)
	})
}

// asks leaves a request as it is stored.
func (b *bench) asks(token uint64, text string) []byte {
	r := handle.NewRequest(token, text)
	b.leaves(r)
	return r
}

func (b *bench) leaves(request []byte) {
	b.with(func() {
		l := b.line(jobs)
		l.request, l.asked = request, l.asked+1
		b.change(jobs)
	})
	time.Sleep(2 * time.Second)
}

// TestRequests: a request is delivered once, even if it was written twice, and not if it is for
// another term.
func TestRequests(t *testing.T) {
	bubble(t, func(b *bench) {
		l, g := b.hold("a")
		gets := func(want string) {
			b.Helper()
			got := "nothing"
			select {
			case text := <-l.Asked():
				got = string(text)
			default:
			}
			if got != want {
				b.Errorf("got %q, want %q", got, want)
			}
		}
		b.asks(g.Token+1, "another's")
		gets("nothing")
		later := 0
		b.with(func() { later = b.later })
		if later != 1 {
			b.Error("a request for a later holder is taken for one that can be deleted")
		}
		b.leaves([]byte("no request"))
		drive.Renew(b.T, l)
		r := b.asks(g.Token, "one")
		gets("one")
		b.leaves(r)
		gets("nothing")
		b.asks(g.Token, "older")
		b.asks(g.Token, "two")
		gets("two")
		if b.later != 1 {
			b.Errorf("%d requests are kept for a later holder, want 1", b.later)
		}
	})
}

// TestAskedDenied: a holder that is not allowed to read requests logs that once, stops trying, and
// keeps the lock.
func TestAskedDenied(t *testing.T) {
	bubble(t, func(b *bench) {
		l, g := b.hold("a")
		b.refuse(errDenied, "watch requests")
		for range 3 {
			b.asks(g.Token, "x")
		}
		if n := strings.Count(b.log.String(), "level=INFO msg=\"cannot read requests"); n != 1 || b.Verbs()["watch requests"] != 1 {
			b.Errorf("logged %d times", n)
		}
		drive.Renew(b.T, l)
	})
}

// TestRecordNeedsATerm: a waiter cannot set the record.
func TestRecordNeedsATerm(t *testing.T) {
	bubble(t, func(b *bench) {
		b.hold("a")
		l, _ := b.waits(b.Context(), "b")
		for name, l := range map[string]*queue.Lock{"waits": l, "has not begun": b.handle("c")} {
			if err := l.SetRecord(b.Context(), []byte("x")); !errors.Is(err, locks.ErrLost) {
				b.Errorf("%s: %v", name, err)
			}
		}
		if b.Verbs()["write"] != 0 {
			b.Error("it was tried")
		}
	})
}

// TestErrors: errors have a class, a text and a hint, and wrap the error of the caller's context.
func TestErrors(t *testing.T) {
	bubble(t, func(b *bench) {
		l := b.handle("a")
		b.refuse(errDenied, "inspect")
		_, err := l.Inspect(b.Context())
		if !errors.Is(err, locks.ErrDenied) || locks.Hint(err) != "ask for it" || err.Error() != `inspect "jobs" on sim://h: not allowed` {
			b.Errorf("got %v, hint %q", err, locks.Hint(err))
		}
		ended, cancel := context.WithCancel(b.Context())
		b.Fault(func(verb) Fault { cancel(); return Fault{Err: errDenied} })
		if _, err := l.Inspect(ended); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not allowed") {
			b.Errorf("with a context that ends meanwhile: %v", err)
		}
		b.Fault(nil)
		if _, err := l.Inspect(ended); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "no answer") {
			b.Errorf("got %v", err)
		}
		holder, _ := b.hold("holder")
		b.refuse(errDenied, "renew")
		if err := holder.Renew(b.Context()); err == nil || err.Error() != `renew "jobs" on sim://h: not allowed` {
			b.Errorf("got %v", err)
		}
		b.Fault(nil)
		if _, err := l.Acquire(b.Context(), true); err == nil || err.Error() != "held by holder" {
			b.Errorf("got %v", err)
		}
		if err := l.Ask(b.Context(), 1, []byte("\xff")); !errors.Is(err, locks.ErrUsage) {
			b.Errorf("got %v", err)
		}
	})
}

// A tidyStore is one whose entries are tidy.
type tidyStore struct {
	queue.Store
	tidied *int
}

type tidy struct {
	queue.Entry
	tidied *int
}

func (s tidyStore) NewEntry(c *queue.Campaign) (queue.Entry, error) {
	p, err := s.Store.NewEntry(c)
	return tidy{p, s.tidied}, err
}

func (p tidy) Tidy(context.Context) { *p.tidied++ }

// TestTidy: an entry is tidied before a release, but not after a loss.
func TestTidy(t *testing.T) {
	bubble(t, func(b *bench) {
		n := 0
		o := b.options("a")
		at := func() *queue.Lock {
			l := queue.New(tidyStore{&client{s: b.sim, path: b.path("h"), o: o, prefix: "/p\x00", key: jobs}, &n}, queue.Traits{Unordered: true}, o)
			b.Cleanup(func() { _ = l.Close() })
			return l
		}
		l := at()
		drive.Hold(b.T, l)
		drive.Release(b.T, l)
		if n != 1 {
			b.Errorf("tidied %d times", n)
		}
		l = at()
		drive.Hold(b.T, l)
		b.Evict(jobs, 0)
		_ = l.Renew(b.Context())
		drive.Release(b.T, l)
		if n != 1 {
			b.Error("tidied after a loss")
		}
	})
}

// A losingStore is one whose entries report the end of their session, also if we have ended it.
type losingStore struct{ queue.Store }

type losing struct {
	queue.Entry
	c *queue.Campaign
}

func (s losingStore) NewEntry(c *queue.Campaign) (queue.Entry, error) {
	p, err := s.Store.NewEntry(c)
	return losing{p, c}, err
}

func (p losing) End(why error) {
	p.Entry.End(why)
	p.c.Lose(errGone)
}

// TestLateLoss: the session of a try that was refused ends. That is no loss, and the try may be
// repeated.
func TestLateLoss(t *testing.T) {
	bubble(t, func(b *bench) {
		holder, _ := b.hold("a")
		o := b.options("b")
		l := queue.New(losingStore{&client{s: b.sim, path: b.path("h"), o: o, prefix: "/p\x00", key: jobs}}, queue.Traits{}, o)
		b.Cleanup(func() { _ = l.Close() })
		if _, err := l.Acquire(b.Context(), true); !errors.Is(err, locks.ErrHeld) {
			b.Errorf("acquire: %v", err)
		}
		select {
		case err := <-l.Lost():
			b.Errorf("lost: %v", err)
		default:
		}
		drive.Release(b.T, holder)
		drive.Hold(b.T, l)
	})
}

// TestReleased: a handle that was released is of no further use.
func TestReleased(t *testing.T) {
	bubble(t, func(b *bench) {
		l, _ := b.hold("a")
		drive.Release(b.T, l)
		if err := l.Renew(b.Context()); !errors.Is(err, locks.ErrLost) {
			b.Errorf("renew: %v", err)
		}
		if g, err := l.Acquire(b.Context(), true); !errors.Is(err, locks.ErrLost) {
			b.Errorf("acquire: %+v, %v", g, err)
		}
		if err := l.SetRecord(b.Context(), []byte("x")); !errors.Is(err, locks.ErrLost) {
			b.Errorf("set the record: %v", err)
		}
	})
}
