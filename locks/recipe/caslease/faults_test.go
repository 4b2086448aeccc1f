package caslease_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// passing are faults of one request that a later attempt overcomes.
func passing() map[string]Fault {
	return map[string]Fault{
		"dropped":    {Drop: true},
		"reply lost": {LoseReply: true},
		"throttled":  {Err: refuse(caslease.Throttled, "too soon")},
		"unknown":    {Err: refuse(caslease.Unknown, "Backend Error")},
		"unsent":     {Err: refuse(caslease.Unsent, "Backend Error")},
		"changed":    {Err: refuse(caslease.Changed, "it is not as it was")},
	}
}

// TestAcquireOvercomes has the write fail that makes the lock ours: that of a
// new lock, of one that was released, and of one whose holder has gone.
func TestAcquireOvercomes(t *testing.T) {
	t.Parallel()
	for name, fault := range passing() {
		for _, before := range []string{"new", "released", "expired"} {
			t.Run(name+"/"+before, func(t *testing.T) {
				bubble(t, func(t *testing.T, s *sim) {
					first := prepare(t, s, before)
					s.Next(map[bool]string{true: "create", false: "swap"}[before == "new"], fault)
					l := at(t, s, options("b"))
					g := drive.Hold(t, l)
					if g.Token <= first.Token || g.TTL != 10*time.Second {
						t.Errorf("granted %+v after %+v", g, first)
					}
					if err := renew(t, l); err != nil {
						t.Errorf("renew: %v", err)
					}
					if got := record(t, s); !strings.Contains(got, `"state":"held"`) || !strings.Contains(got, `"holder":"b"`) {
						t.Errorf("the record is %s", got)
					}
					drive.Release(t, l)
					if got := record(t, s); !strings.Contains(got, `"state":"free"`) {
						t.Errorf("after the release the record is %s", got)
					}
				})
			})
		}
	}
}

// TestWritesBackOff: while the service fails, writes come ever more slowly.
func TestWritesBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.Fault(func(r Request) Fault {
			if r.Verb == "read" {
				return Fault{}
			}
			return Fault{Err: refuse(caslease.Unknown, "Backend Error")}
		})
		if _, err := at(t, s, options("a")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("acquire: %v; want ErrUnavailable", err)
		}
		if n := verbs(s)["create"]; n < 2 || n > 8 {
			t.Errorf("%d writes in 3s; want 2 to 8", n)
		}
	})
}

// TestReadOvercomes has the first look fail.
func TestReadOvercomes(t *testing.T) {
	t.Parallel()
	for name, fault := range passing() {
		if name == "changed" { // a look has no preconditions
			continue
		}
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				s.Next("read", fault)
				l := at(t, s, options("a"))
				drive.Hold(t, l)
				drive.Release(t, l)
			})
		})
	}
}

// prepare brings the lock into a state in which it is to be had.
func prepare(t *testing.T, s *sim, state string) (last locks.Grant) {
	t.Helper()
	o := options("a")
	switch state {
	case "released":
		a := at(t, s, o)
		last = drive.Hold(t, a)
		drive.Release(t, a)
	case "expired":
		o.TTL = time.Second
		last = drive.Hold(t, at(t, s, o))
		s.Age(leaseCell, time.Hour)
	}
	return last
}

// TestAcquireIsResolvedByNonce: the write took effect and its answer was lost.
// It is found out by reading, and no second write is made.
func TestAcquireIsResolvedByNonce(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"new", "released", "expired"} {
		t.Run(before, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				prepare(t, s, before)
				write := map[bool]string{true: "create", false: "swap"}[before == "new"]
				s.Next(write, Fault{LoseReply: true})
				verbs(s)
				drive.Hold(t, at(t, s, options("b")))
				if got, want := verbs(s), map[string]int{"read": 2, write: 1}; !maps.Equal(got, want) {
					t.Errorf("requests: %v; want %v", got, want)
				}
			})
		})
	}
}

// TestAcquireResolvedByAnswer: where a read may show what another server, which takes over,
// has not got, the lock is had by a write that is acknowledged.
func TestAcquireResolvedByAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.early = true
		s.Next("create", Fault{LoseReply: true})
		l := at(t, s, options("b"))
		drive.Hold(t, l)
		if got, want := verbs(s), map[string]int{"read": 2, "create": 1, "swap": 1}; !maps.Equal(got, want) {
			t.Errorf("requests: %v; want %v", got, want)
		}
		drive.Renew(t, l)
		drive.Release(t, l)
		s.Fault(func(r Request) Fault { return Fault{LoseReply: r.Verb == "swap"} })
		if _, err := at(t, s, options("c")).Acquire(drive.Context(t), false); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("without any answer: %v; want ErrUnavailable", err)
		}
	})
}

// TestAcquireResolvedForAnother: the write was lost, and somebody else's made the
// lock theirs before it was looked for.
func TestAcquireResolvedForAnother(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.Fault(func(r Request) Fault {
			if r.Verb == "create" {
				s.SetState(leaseCell, `{"state":"held","nonce":"x.1","ttl_ms":60000,"holder":"c"}`)
			}
			return Fault{Drop: r.Verb == "create"}
		})
		_, err := at(t, s, options("b")).Acquire(drive.Context(t), true)
		if held, ok := errors.AsType[*locks.HeldError](err); !ok || held.Status.Holder != "c" {
			t.Errorf("got %v; want that c has it", err)
		}
	})
}

// TestAcquireResolvedTooLate: by the time that the answer counts as lost, the
// lease that the write began has ended. Another write begins another.
func TestAcquireResolvedTooLate(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		never := make(chan struct{})
		defer close(never)
		s.Next("create", Fault{Hold: never})
		o := options("a")
		o.TTL, o.ConnectTimeout = 3*time.Second, 8*time.Second
		l := at(t, s, o)
		drive.Hold(t, l)
		ctx, cancel := context.WithTimeout(drive.Context(t), time.Second)
		defer cancel()
		if err := l.Renew(ctx); errors.Is(err, locks.ErrLost) {
			t.Errorf("what was granted has ended already: %v", err)
		}
	})
}

// TestAcquireUnresolved: after the write nothing can be reached. The lock is not
// ours, and what was made ends with its lease, or with the next campaign.
func TestAcquireUnresolved(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		wrote := false
		s.Fault(func(r Request) Fault {
			cut := wrote
			wrote = wrote || r.Verb == "create"
			return Fault{Drop: cut, LoseReply: wrote}
		})
		o := options("a")
		o.ConnectTimeout = time.Second
		l := at(t, s, o)
		if g, err := l.Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUnavailable) {
			t.Fatalf("got %+v, %v; want ErrUnavailable", g, err)
		}
		if err := l.Renew(drive.Context(t)); !errors.Is(err, locks.ErrNoLease) {
			t.Errorf("renew after a failed acquire: %v", err)
		}
		s.Fault(nil)
		if _, err := at(t, s, options("b")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrHeld) {
			t.Errorf("what could not be undone should hold until its lease ends: %v", err)
		}
		if g := drive.Hold(t, l); g.Clean {
			t.Error("the second campaign calls its own leftover a release")
		}
		drive.Release(t, l)
	})
}

// TestAcquireIsUndone: the caller gives up while the answer is outstanding. The
// lock is free again at once.
func TestAcquireIsUndone(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		held := make(chan struct{})
		defer close(held)
		s.Next("create", Fault{Hold: held})
		ctx, cancel := context.WithCancel(drive.Context(t))
		done := make(chan error, 1)
		l := at(t, s, patiently("a"))
		go func() { _, err := l.Acquire(ctx, true); done <- err }()
		drive.Eventually(t, drive.Patience, "the cell is there", func() bool { return len(s.under("p|")) == 1 })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want context.Canceled", err)
		}
		drive.Release(t, at(t, s, options("b")))
		b := at(t, s, options("b"))
		drive.Hold(t, b)
		drive.Release(t, b)
	})
}

// TestAcquireAwaitsItsWrite: the caller gives up while the write is on its way.
// That is awaited for a moment: one that arrives after the undoing would hold
// the lock for nobody until its lease ends.
func TestAcquireAwaitsItsWrite(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		late, sent := make(chan struct{}), make(chan struct{}, 1)
		s.Fault(func(r Request) Fault {
			if r.Verb != "create" || len(sent) > 0 {
				return Fault{}
			}
			sent <- struct{}{}
			return Fault{Late: late}
		})
		ctx, cancel := context.WithCancel(drive.Context(t))
		done := make(chan error, 1)
		l := at(t, s, options("a"))
		go func() { _, err := l.Acquire(ctx, true); done <- err }()
		drive.Eventually(t, drive.Patience, "the write is on its way", func() bool { return len(sent) == 1 })
		cancel()
		var err error
		select {
		case err = <-done: // it has undone what has not happened yet
			close(late)
		case <-time.After(20 * time.Millisecond):
			close(late)
			err = <-done
		}
		if err == nil {
			drive.Release(t, l)
		}
		drive.Eventually(t, drive.Patience, "the write has arrived", func() bool { return len(s.under("p|")) == 1 })
		drive.Hold(t, at(t, s, options("b")))
	})
}

// TestRenewOvercomes: the failed attempt is no loss, and the next one succeeds.
// If the first took effect, the nonce tells that the cell's change is our own.
func TestRenewOvercomes(t *testing.T) {
	t.Parallel()
	for name, fault := range passing() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				l := at(t, s, options("a"))
				drive.Hold(t, l)
				s.Next("swap", fault)
				err := renew(t, l)
				if errors.Is(err, locks.ErrLost) || (err == nil) != (name == "changed") {
					t.Fatalf("the attempt that failed: %v", err)
				}
				before, _ := s.Cell(leaseCell)
				if err != nil {
					if err := renew(t, l); err != nil {
						t.Fatalf("the next attempt: %v", err)
					}
					if after, _ := s.Cell(leaseCell); after.Version == before.Version {
						t.Errorf("a renewal that succeeds must have written: version %s, then %s", before.Version, after.Version)
					}
				}
				drive.Release(t, l)
			})
		})
	}
}

// TestRenewBesideAcquire: while Acquire waits there is nothing that could end,
// and Renew succeeds without a request. From the moment on at which the lock may
// be ours it does not: what the core counts from must be before that.
func TestRenewBesideAcquire(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		waits := make(chan struct{}, 9)
		o := patiently("b")
		o.Waiting = func(locks.Waiting) { waits <- struct{}{} }
		b := at(t, s, o)
		done := make(chan error, 1)
		go func() { _, err := b.Acquire(drive.Context(t), false); done <- err }()
		<-waits
		verbs(s)
		if err := renew(t, b); err != nil || verbs(s)["swap"] != 0 {
			t.Errorf("while b waits, Renew should succeed without a write: %v", err)
		}
		answer := make(chan struct{})
		s.Fault(func(r Request) Fault {
			if r.Verb == "swap" && strings.Contains(r.Value.State, `"holder":"b"`) {
				return Fault{Hold: answer}
			}
			return Fault{}
		})
		drive.Release(t, a)
		drive.Eventually(t, drive.Patience, "b's write has taken effect", func() bool { return strings.Contains(record(t, s), `"holder":"b"`) })
		if err := renew(t, b); !errors.Is(err, locks.ErrNoLease) {
			t.Errorf("while b's write is under way: %v; want ErrNoLease", err)
		}
		close(answer)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := renew(t, b); err != nil {
			t.Error(err)
		}
	})
}

// TestRenewOnceIsOneRequest: what costs money and counts against a limit. One
// that succeeds is followed by one look at what we are asked.
func TestRenewOnceIsOneRequest(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		verbs(s)
		for range 3 {
			if err := renew(t, l); err != nil {
				t.Fatal(err)
			}
			n := map[string]int{}
			drive.Eventually(t, drive.Patience, "a look at what we are asked", func() bool {
				for verb, more := range verbs(s) {
					n[verb] += more
				}
				return n["ask read"] > 0
			})
			if want := (map[string]int{"swap": 1, "ask read": 1}); !maps.Equal(n, want) {
				t.Errorf("a renewal was %v; want %v", n, want)
			}
		}
		s.Fault(func(Request) Fault { return Fault{Err: refuse(caslease.Unknown, "Backend Error")} })
		if err := renew(t, l); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("renew: %v", err)
		}
		if got, want := verbs(s), map[string]int{"swap": 1}; !maps.Equal(got, want) {
			t.Errorf("a renewal that fails was %v; want %v: the SDK must not retry", got, want)
		}
	})
}

// TestReleaseOvercomes: Release is worth several attempts within its context.
func TestReleaseOvercomes(t *testing.T) {
	t.Parallel()
	for name, fault := range passing() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				l := at(t, s, options("a"))
				g := drive.Hold(t, l)
				s.Next("swap", fault)
				drive.Release(t, l)
				if got := record(t, s); !strings.Contains(got, `"state":"free"`) {
					t.Errorf("the record is %s", got)
				}
				verbs(s)
				drive.Release(t, l)
				if got := verbs(s); len(got) != 0 && name != "reply lost" {
					t.Errorf("a second release made requests: %v", got)
				}
				if next := drive.Hold(t, at(t, s, options("b"))); !next.Clean || next.Token <= g.Token {
					t.Errorf("after the release: %+v; before: %+v", next, g)
				}
			})
		})
	}
}

// TestLoss: what somebody else did to the cell is a definite loss.
func TestLoss(t *testing.T) {
	t.Parallel()
	const name = leaseCell
	for what, do := range map[string]func(*sim){
		"the cell was deleted": func(s *sim) { s.Delete(name) },
		"someone else has taken the lock": func(s *sim) {
			s.SetState(name, `{"state":"held","nonce":"x","ttl_ms":9000}`)
		},
		"the cell was overwritten": func(s *sim) { s.SetState(name, "?") },
		"someone else has marked the lock": func(s *sim) {
			s.SetState(name, strings.Replace(record(t, s), `"held"`, `"free"`, 1))
		},
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				l := at(t, s, options("a"))
				drive.Hold(t, l)
				do(s)
				for range 2 {
					if err := renew(t, l); !errors.Is(err, locks.ErrLost) || !strings.Contains(err.Error(), what) {
						t.Errorf("renew: %v; want ErrLost, as %s", err, what)
					}
				}
				before, was := s.Cell(leaseCell)
				drive.Release(t, l)
				if after, is := s.Cell(leaseCell); was != is || before.Version != after.Version {
					t.Errorf("the release changed what is not ours: %v, then %v", before, after)
				}
			})
		})
	}
}

// TestForeignChangeIsNoLoss: somebody sets metadata of their own, or the service
// changes the storage class. The record is still ours.
func TestForeignChangeIsNoLoss(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		s.Edit(leaseCell, func(*caslease.Cell) {})
		if err := renew(t, l); err != nil {
			t.Errorf("renew: %v", err)
		}
		drive.Release(t, l)
	})
}
