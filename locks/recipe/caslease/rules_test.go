package caslease_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// TestMinAge: a takeover by the store's clock says how long ago the last change must have been, so
// that the store can check that in the step that writes. Other writes do not.
func TestMinAge(t *testing.T) {
	t.Parallel()
	for e, want := range map[caslease.Expiry]time.Duration{caslease.ByClock: 11250 * time.Millisecond, caslease.ByStamps: 0, caslease.ByWatching: 0} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSim(e)
				drive.Hold(t, at(t, s, options("a")))
				s.Age(leaseCell, time.Hour)
				s.Requests()
				if _, err := at(t, s, options("b")).Acquire(drive.Context(t), false); err != nil {
					t.Fatal(err)
				}
				for _, r := range s.Requests() {
					if r.Verb == "swap" && r.Value.MinAge != want {
						t.Errorf("the least age is %v; want %v", r.Value.MinAge, want)
					}
				}
			})
		})
	}
}

// TestThrottledTake: a write that the store refuses for coming too soon is not repeated within its
// pace.
func TestThrottledTake(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.Next("create", passing()["throttled"])
		start := time.Now()
		drive.Hold(t, at(t, s, options("a")))
		if took := time.Since(start); took < time.Second {
			t.Errorf("the write was repeated within %v", took)
		}
	})
}

// reads returns how often a waiter reads in a minute that begins after a while.
func reads(t *testing.T, s *sim, o locks.Options, after time.Duration, f func(Request) Fault) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := at(t, s, o)
	done := make(chan error, 1)
	go func() { _, err := l.Acquire(ctx, false); done <- err }()
	time.Sleep(after)
	verbs(s)
	s.Fault(f)
	time.Sleep(time.Minute)
	n := verbs(s)["read"]
	cancel()
	<-done
	return n
}

// TestLongWait: a waiter reads less often, and has no connection between two reads, when it has
// waited for a while.
func TestLongWait(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.longest = 5 * time.Second
		o := options("a")
		o.TTL = 30 * time.Second
		l := at(t, s, o)
		drive.Hold(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		var renewer sync.WaitGroup
		defer renewer.Wait()
		defer cancel()
		renewer.Go(func() {
			for ctx.Err() == nil {
				drive.Renew(t, l)
				_ = backoff.Sleep(ctx, 6*time.Second)
			}
		})
		o.Holder, o.NoResign = "b", true
		if n := reads(t, s, o, 20*time.Second, nil); n < 12 || n > 24 || s.rested.Load() < 12 {
			t.Errorf("%d reads in a minute, and %d rests", n, s.rested.Load())
		}
	})
}

// TestLongWaitWithoutRest: a store need have nothing to give up between two reads.
func TestLongWaitWithoutRest(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.longest = 5 * time.Second
		o := options("a")
		o.TTL = time.Hour
		drive.Hold(t, at(t, s, o))
		b := caslease.New(struct{ caslease.Store }{s.client("host", "p")}, s.traits(), o)
		t.Cleanup(func() { _ = b.Close() })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.Acquire(ctx, false); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("acquire: %v", err)
		}
		s.watched = true // from now on: who watches keeps the connection
		if reads(t, s, o, 20*time.Second, nil); s.rested.Load() > 0 {
			t.Errorf("%d rests", s.rested.Load())
		}
	})
}

// TestNoRoom: a waiter for which the store had no room leaves what there is to holders.
func TestNoRoom(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		drive.Hold(t, at(t, s, options("a")))
		var last time.Time
		full := func(r Request) Fault {
			if pause := r.At.Sub(last); pause < 5*time.Second {
				t.Errorf("a pause of %v", pause)
			}
			last = r.At
			return passing()["throttled"]
		}
		if n := reads(t, s, options("b"), 5*time.Second, full); n < 3 || n > 12 {
			t.Errorf("%d reads in a minute", n)
		}
	})
}

// TestOutageIsQuiet: a waiter asks a store that is down less and less often, and once each time,
// although it also watches. When the store is back, it watches again.
func TestOutageIsQuiet(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		o := options("a")
		o.TTL = time.Hour
		drive.Hold(t, at(t, s, o))
		s.watched = true // from now on
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, done := drive.Campaign(ctx, t, s.open, "sim://host/p", options("b"))
		time.Sleep(20 * time.Second)
		verbs(s)
		s.Fault(func(Request) Fault { return Fault{Err: refuse(causes.Unknown, "down")} })
		s.mu.Lock()
		for w := range s.watchers {
			w.end()
		}
		s.mu.Unlock()
		time.Sleep(time.Minute)
		if v := verbs(s); v["read"]+v["watch"] < 6 || v["read"]+v["watch"] > 14 {
			t.Errorf("in a minute there were %v", v)
		}
		s.Fault(nil)
		time.Sleep(20 * time.Second)
		if v := verbs(s); v["watch"] != 1 {
			t.Errorf("afterwards there were %v", v)
		}
		cancel()
		<-done
	})
}

// TestLongWaitEnds: a waiter whose pauses have grown looks once more before its time is up: the
// lock is held, however long its last pause was.
func TestLongWaitEnds(t *testing.T) {
	for range 20 {
		t.Run("", func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				s.longest = 5 * time.Second
				o := options("a")
				o.TTL = time.Minute
				drive.Hold(t, at(t, s, o))
				o.Holder, o.TTL = "b", 2*time.Second // so an answer counts for less time than a pause takes
				ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second+rand.N(10*time.Second))
				defer cancel()
				_, done := drive.Campaign(ctx, t, s.open, "sim://host/p", o)
				if err := (<-done).Err; !errors.Is(err, locks.ErrHeld) {
					t.Error(err)
				}
			})
		})
	}
}

// TestLeaseCountsFromTheSending: a lease counts from the sending of the last renewal, not from its
// answer.
func TestLeaseCountsFromTheSending(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		time.Sleep(2 * time.Second)
		answer := make(chan struct{})
		s.Next("swap", Fault{Hold: answer})
		go func() { time.Sleep(5 * time.Second); close(answer) }()
		drive.Renew(t, l)
		time.Sleep(5 * time.Second)
		if err := renew(t, l); !errors.Is(err, locks.ErrLost) {
			t.Errorf("10 s after the last renewal was sent: %v; want ErrLost", err)
		}
	})
}

// TestVersionMustRise: the version must rise if the store says how versions do.
func TestVersionMustRise(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.follows = func(since, version string) bool { return len(version) > len(since) || version > since }
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		drive.Renew(t, l)
		s.Next("swap", Fault{Answer: func(c *caslease.Cell) { c.Version = "a" }})
		if err := renew(t, l); !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "version") {
			t.Errorf("got %v; want ErrUnavailable that names the version", err)
		}
		drive.Renew(t, l)
	})
}

// TestLateAnswer: the answer to a write of the record comes after the answer to a renewal. What we
// know from the renewal stays, so the next one is one request.
func TestLateAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, patiently("a"))
		drive.Hold(t, l)
		answer := make(chan struct{})
		s.Fault(func(r Request) Fault {
			if ofRecord(r) {
				return Fault{Hold: answer}
			}
			return Fault{}
		})
		done := make(chan error, 1)
		go func() { done <- l.(locks.Recorder).SetRecord(drive.Context(t), []byte("x")) }()
		synctest.Wait()
		time.Sleep(10 * time.Millisecond)
		drive.Renew(t, l)
		close(answer)
		if err := <-done; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		verbs(s)
		drive.Renew(t, l)
		if n := verbs(s); n["swap"] != 1 || n["read"] != 0 {
			t.Errorf("the next renewal made the requests %v", n)
		}
	})
}

// TestPollsWithoutWatch: a store that will never report changes is polled, and the log says so
// once. A store whose watch has ended is polled until it can be watched again.
func TestPollsWithoutWatch(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"never": refuse(causes.Refused, "a pooler is in the way"), "not now": refuse(causes.Unknown, "?")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				s.watched = true
				s.Fault(func(r Request) Fault {
					if r.Verb == "watch" {
						return Fault{Err: err}
					}
					return Fault{}
				})
				a := at(t, s, options("a"))
				drive.Hold(t, a)
				b, result := drive.Campaign(context.Background(), t, s.open, (&url.URL{Host: "host", Path: "/p"}).String(), options("b"))
				time.Sleep(5 * time.Second)
				start := time.Now()
				drive.Release(t, a)
				if r := <-result; r.Err != nil || r.At.Sub(start) > 4*time.Second {
					t.Errorf("%v after the release: %v", r.At.Sub(start), r.Err)
				}
				watches := verbs(s)["watch"]
				if name == "never" && watches != 2 || name == "not now" && watches < 6 {
					t.Errorf("%d tries to watch, of two handles", watches)
				}
				drive.Release(t, b)
			})
		})
	}
}

// TestWatchGoesOn: a watch that has ended is begun again, and what changed meanwhile is reported.
func TestWatchGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.watched = true
		changes := drive.Watch(t, at(t, s, options("who watches")).(locks.Watcher), false)
		for range 2 {
			time.Sleep(20 * time.Second)
			for len(changes) > 0 {
				<-changes
			}
			s.mu.Lock()
			for w := range s.watchers {
				w.end()
			}
			s.mu.Unlock()
			s.SetState(leaseCell, "x")
			drive.Within(t, drive.Patience, changes)
		}
	})
}

// TestTokensRise: tokens rise whatever happens to the cell in between.
func TestTokensRise(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		token := regexp.MustCompile(`"token":\d+`)
		last := uint64(0)
		for name, do := range map[string]func(){
			"nothing":                  func() {},
			"the state says 1":         func() { s.SetState(leaseCell, token.ReplaceAllString(stateOf(t, s), `"token":1`)) },
			"the state says nothing":   func() { s.SetState(leaseCell, token.ReplaceAllString(stateOf(t, s), `"token":0`)) },
			"the cell was deleted":     func() { s.Delete(leaseCell) },
			"the holder has not ended": func() { s.Age(leaseCell, time.Hour) },
		} {
			l := at(t, s, options("a"))
			g := drive.Hold(t, l)
			if g.Token <= last {
				t.Errorf("the token is %d; before, it was %d", g.Token, last)
			}
			for range 3 {
				drive.Renew(t, l)
			}
			if st := inspect(t, s); st.Token != g.Token {
				t.Errorf("granted %d, but the status has %d", g.Token, st.Token)
			}
			if last = g.Token; name != "the holder has not ended" {
				drive.Release(t, l)
			}
			do()
		}
	})
}
