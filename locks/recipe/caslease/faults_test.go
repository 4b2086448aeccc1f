package caslease_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// passing returns faults of one request after which another attempt succeeds.
func passing() map[string]Fault {
	return map[string]Fault{
		"dropped":    {Drop: true},
		"reply lost": {LoseReply: true},
		"throttled":  {Err: refuse(causes.Throttled, "too soon")},
		"unknown":    {Err: refuse(causes.Unknown, "Backend Error")},
		"unsent":     {Err: refuse(causes.Unsent, "Backend Error")},
		"changed":    {Err: refuse(causes.Changed, "the cell has changed")},
	}
}

// TestAcquireOvercomes: the write fails that takes a new lock, a lock that was released, or a
// lock whose holder is gone.
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
					if got := stateOf(t, s); !strings.Contains(got, `"state":"held"`) || !strings.Contains(got, `"holder":"b"`) {
						t.Errorf("the state is %s", got)
					}
					drive.Release(t, l)
					if got := stateOf(t, s); !strings.Contains(got, `"state":"free"`) {
						t.Errorf("after the release the state is %s", got)
					}
				})
			})
		}
	}
}

// TestWritesBackOff: while the store fails, the pauses between writes grow.
func TestWritesBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		s.Fault(func(r Request) Fault {
			if r.Verb == "read" {
				return Fault{}
			}
			return Fault{Err: refuse(causes.Unknown, "Backend Error")}
		})
		if _, err := at(t, s, options("a")).Acquire(drive.Context(t), true); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("acquire: %v; want ErrUnavailable", err)
		}
		if n := verbs(s)["create"]; n < 2 || n > 8 {
			t.Errorf("%d writes in 3s; want 2 to 8", n)
		}
	})
}

// TestReadOvercomes: the first read fails.
func TestReadOvercomes(t *testing.T) {
	t.Parallel()
	for name, fault := range passing() {
		if name == "changed" { // a read has no condition
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

// prepare brings the lock into a state in which it can be taken.
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

// TestAcquireIsResolvedByNonce: a write took effect but its answer was lost. A read finds that
// out, and there is no second write.
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

// TestAcquireResolvedByAnswer: if a read may show what the standby does not have yet, we take
// the lock only by a write that is acknowledged.
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

// TestAcquireResolvedForAnother: the write was lost, and somebody else took the lock before we
// read the cell.
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

// TestAcquireResolvedTooLate: when we give up on the answer, the lease that the write began has
// ended. A new write begins a new one.
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
			t.Errorf("the granted lease has ended already: %v", err)
		}
	})
}

// TestAcquireUnresolved: after the write the store is unreachable. The lock is not ours, and what
// the write left ends with its lease, or with the next campaign.
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
			t.Errorf("what was not undone does not hold the lock until its lease ends: %v", err)
		}
		if g := drive.Hold(t, l); g.Clean {
			t.Error("the second campaign takes what the first left for a release")
		}
		drive.Release(t, l)
	})
}

// TestAcquireIsUndone: the caller gives up before the answer comes. The lock is free again at
// once.
func TestAcquireIsUndone(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		held := make(chan struct{})
		defer close(held)
		s.Next("create", Fault{Hold: held})
		ctx, cancel := context.WithCancel(drive.Context(t))
		done := make(chan error, 1)
		l := at(t, s, patiently("a"))
		go func() { _, err := l.Acquire(ctx, true); done <- err }()
		drive.Eventually(t, drive.Patience, "the cell exists", func() bool { return len(s.under("p|")) == 1 })
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

// TestAcquireAwaitsItsWrite: the caller gives up before the write arrives. Acquire waits for it
// for a moment: a write that arrives after it was undone would hold the lock for nobody until
// its lease ends.
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
		case err = <-done: // it has undone a write that has not arrived yet
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

// TestRenewOvercomes: a renewal that fails is not a loss, and the next one succeeds. If the first
// took effect, the nonce shows that the change of the cell was ours.
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
					t.Fatalf("the first attempt: %v", err)
				}
				before, _ := s.Cell(leaseCell)
				if err != nil {
					if err := renew(t, l); err != nil {
						t.Fatalf("the next attempt: %v", err)
					}
					if after, _ := s.Cell(leaseCell); after.Version == before.Version {
						t.Errorf("a renewal succeeded without a write: version %s, then %s", before.Version, after.Version)
					}
				}
				drive.Release(t, l)
			})
		})
	}
}

// TestRenewBesideAcquire: while Acquire waits, nothing of ours could end, and Renew succeeds
// without a request. Once the lock may be ours, it does not: the moment from which the core
// counts must be earlier.
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
			t.Errorf("while b waits: %v; want Renew to succeed without a write", err)
		}
		answer := make(chan struct{})
		s.Fault(func(r Request) Fault {
			if r.Verb == "swap" && strings.Contains(r.Value.State, `"holder":"b"`) {
				return Fault{Hold: answer}
			}
			return Fault{}
		})
		drive.Release(t, a)
		drive.Eventually(t, drive.Patience, "b's write has taken effect", func() bool { return strings.Contains(stateOf(t, s), `"holder":"b"`) })
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

// TestRenewOnceIsOneRequest: a renewal is one request, because each costs money and counts
// against a limit. After a renewal that succeeds, we read the requests once.
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
			drive.Eventually(t, drive.Patience, "a read of the requests", func() bool {
				for verb, more := range verbs(s) {
					n[verb] += more
				}
				return n["ask read"] > 0
			})
			if want := (map[string]int{"swap": 1, "ask read": 1}); !maps.Equal(n, want) {
				t.Errorf("a renewal made the requests %v; want %v", n, want)
			}
		}
		s.Fault(func(Request) Fault { return Fault{Err: refuse(causes.Unknown, "Backend Error")} })
		if err := renew(t, l); !errors.Is(err, locks.ErrUnavailable) {
			t.Errorf("renew: %v", err)
		}
		if got, want := verbs(s), map[string]int{"swap": 1}; !maps.Equal(got, want) {
			t.Errorf("a renewal that fails made the requests %v; want %v: the SDK must not retry", got, want)
		}
	})
}

// TestReleaseOvercomes: Release makes several attempts within its context.
func TestReleaseOvercomes(t *testing.T) {
	t.Parallel()
	for name, fault := range passing() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				l := at(t, s, options("a"))
				g := drive.Hold(t, l)
				s.Next("swap", fault)
				drive.Release(t, l)
				if got := stateOf(t, s); !strings.Contains(got, `"state":"free"`) {
					t.Errorf("the state is %s", got)
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

// TestLoss: a change of the cell by somebody else is a definite loss.
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
			s.SetState(name, strings.Replace(stateOf(t, s), `"held"`, `"free"`, 1))
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
					t.Errorf("the release changed a cell that is not ours: %v, then %v", before, after)
				}
			})
		})
	}
}

// TestForeignChangeIsNoLoss: somebody sets other metadata, or the service changes the storage
// class. The state is still ours.
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
