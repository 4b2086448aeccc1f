package caslease_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// setRecord sets the record, which must succeed.
func setRecord(t testing.TB, l locks.Lock, text string) {
	t.Helper()
	if err := l.(locks.Recorder).SetRecord(drive.Context(t), []byte(text)); err != nil {
		t.Fatalf("set record: %v", err)
	}
}

// wantRecord checks the record, by another handle.
func wantRecord(t testing.TB, s *sim, when, want string) {
	t.Helper()
	got, err := at(t, s, options("reader")).(locks.Recorder).Record(drive.Context(t))
	if err != nil || got == nil || string(got) != want {
		t.Errorf("%s: the record is %q, %v; want %q", when, got, err, want)
	}
}

// TestRecordTexts: a record is read as it was set, and an empty record is not a missing one.
func TestRecordTexts(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		none := func(when string) {
			if got, err := l.(locks.Recorder).Record(drive.Context(t)); err != nil || got != nil {
				t.Errorf("%s: %q, %v; want nil", when, got, err)
			}
		}
		none("without a cell")
		drive.Hold(t, l)
		none("before the first")
		for _, text := range []string{"x", "", " é\n\x00\x1b\"\\ ", strings.Repeat("é", locks.MaxRecord/2), "last"} {
			setRecord(t, l, text)
			wantRecord(t, s, "set", text)
		}
		for _, text := range []string{"\xff", strings.Repeat("x", locks.MaxRecord+1)} {
			if err := l.(locks.Recorder).SetRecord(drive.Context(t), []byte(text)); !errors.Is(err, locks.ErrUsage) {
				t.Errorf("a record of %d bytes: %v; want ErrUsage", len(text), err)
			}
		}
		wantRecord(t, s, "after what was refused", "last")
	})
}

// TestRecordStays: a record stays through renewals, a release, and a takeover, until the next
// holder replaces it.
func TestRecordStays(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		a := at(t, s, options("a"))
		drive.Hold(t, a)
		setRecord(t, a, "by a")
		for range 100 {
			drive.Renew(t, a)
		}
		wantRecord(t, s, "after 100 renewals", "by a")
		drive.Release(t, a)
		wantRecord(t, s, "after a release", "by a")
		b := at(t, s, options("b"))
		drive.Hold(t, b)
		wantRecord(t, s, "under the next term", "by a")
		s.Age(leaseCell, time.Hour)
		c := at(t, s, options("c"))
		drive.Hold(t, c)
		wantRecord(t, s, "after a takeover", "by a")
		setRecord(t, c, "by c")
		wantRecord(t, s, "set by c", "by c")
		drive.Renew(t, c)
	})
}

// TestRecordWithoutLock: without the lock we cannot write the record.
func TestRecordWithoutLock(t *testing.T) {
	t.Parallel()
	const name = leaseCell
	for when, tt := range map[string]struct {
		do   func(*testing.T, *sim, locks.Lock)
		want error
	}{
		"taken over": {func(t *testing.T, s *sim, _ locks.Lock) {
			s.Age(name, time.Hour)
			drive.Hold(t, at(t, s, options("b")))
		}, locks.ErrLost},
		"taken over and released": {func(t *testing.T, s *sim, _ locks.Lock) {
			s.Age(name, time.Hour)
			b := at(t, s, options("b"))
			drive.Hold(t, b)
			drive.Release(t, b)
		}, locks.ErrLost},
		"deleted":  {func(t *testing.T, s *sim, _ locks.Lock) { s.Delete(name) }, locks.ErrLost},
		"released": {func(t *testing.T, _ *sim, l locks.Lock) { drive.Release(t, l) }, locks.ErrLost},
		"closed":   {func(t *testing.T, _ *sim, l locks.Lock) { _ = l.Close() }, locks.ErrLost},
	} {
		t.Run(when, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				l := at(t, s, options("a"))
				if err := l.(locks.Recorder).SetRecord(drive.Context(t), []byte("early")); !errors.Is(err, locks.ErrLost) {
					t.Errorf("before Acquire: %v; want ErrLost", err)
				}
				drive.Hold(t, l)
				setRecord(t, l, "before")
				tt.do(t, s, l)
				before, exists := s.Cell(name)
				if err := l.(locks.Recorder).SetRecord(drive.Context(t), []byte("before")); !errors.Is(err, tt.want) {
					t.Errorf("%v; want %v", err, tt.want)
				}
				if after, still := s.Cell(name); exists != still || after.Version != before.Version {
					t.Errorf("the cell has changed: %+v, then %+v", before, after)
				}
			})
		})
	}
}

// TestRecordOvercomes: a write that fails is repeated, whether or not it took effect, and the
// lock stays ours.
func TestRecordOvercomes(t *testing.T) {
	t.Parallel()
	for name, fault := range passing() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				l := at(t, s, options("a"))
				drive.Hold(t, l)
				state := stateOf(t, s)
				s.Next("swap", fault)
				setRecord(t, l, "x")
				wantRecord(t, s, "after a fault", "x")
				if got := stateOf(t, s); got != state {
					t.Errorf("the state was %s and is %s", state, got)
				}
				drive.Renew(t, l)
				drive.Release(t, l)
			})
		})
	}
}

// TestRecordResolvedForAnother: the write was lost, or it took effect and its answer was lost,
// and somebody else takes the lock before we read the cell.
func TestRecordResolvedForAnother(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]Fault{"dropped": {Drop: true}, "reply lost": {LoseReply: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				l := at(t, s, options("a"))
				drive.Hold(t, l)
				setRecord(t, l, "before")
				const theirs = `{"state":"held","nonce":"x.1","ttl_ms":60000,"holder":"c"}`
				writes := 0
				s.Fault(func(r Request) Fault {
					if !ofRecord(r) {
						return Fault{}
					}
					if writes++; writes == 1 {
						return fault
					}
					if writes == 2 {
						s.SetState(leaseCell, theirs)
					}
					return Fault{}
				})
				if err := l.(locks.Recorder).SetRecord(drive.Context(t), []byte("x")); !errors.Is(err, locks.ErrLost) {
					t.Errorf("got %v; want ErrLost", err)
				}
				wantRecord(t, s, "after another took the lock", map[string]string{"dropped": "before", "reply lost": "x"}[name])
				if err := renew(t, l); !errors.Is(err, locks.ErrLost) || stateOf(t, s) != theirs {
					t.Errorf("renew: %v; and the state is %s", err, stateOf(t, s))
				}
			})
		})
	}
}

// TestRecordArrivesLate: a write that was given up arrives after a later one, which it must not
// undo.
func TestRecordArrivesLate(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		late, caught := make(chan struct{}), make(chan struct{}, 1)
		s.Fault(func(r Request) Fault {
			if ofRecord(r) && len(caught) == 0 {
				caught <- struct{}{}
				return Fault{Late: late}
			}
			return Fault{}
		})
		ctx, cancel := context.WithCancel(drive.Context(t))
		done := make(chan error, 1)
		go func() { done <- l.(locks.Recorder).SetRecord(ctx, []byte("first")) }()
		drive.Eventually(t, drive.Patience, "the write is under way", func() bool { return len(caught) == 1 })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, locks.ErrLost) {
			t.Errorf("given up: %v; want context.Canceled", err)
		}
		setRecord(t, l, "second")
		verbs(s)
		close(late)
		drive.Eventually(t, drive.Patience, "the write has arrived", func() bool { return verbs(s)["refused"] == 1 })
		wantRecord(t, s, "after the late write", "second")
	})
}

// TestRecordKeepsItsDistance: a write that the store refuses for coming too soon is not
// repeated within a second.
func TestRecordKeepsItsDistance(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		s.Next("swap", passing()["throttled"])
		start := time.Now()
		setRecord(t, l, "x")
		if took := time.Since(start); took < time.Second {
			t.Errorf("the write was repeated within %v", took)
		}
	})
}

// TestRecordThrottled: the store refuses several writes of the record. Renewals go on meanwhile,
// and in the end the record is written.
func TestRecordThrottled(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		refused := 0
		s.Fault(func(r Request) Fault {
			if !ofRecord(r) || refused == 3 {
				return Fault{}
			}
			refused++
			return passing()["throttled"]
		})
		start := time.Now()
		done := make(chan error, 1)
		go func() { done <- l.(locks.Recorder).SetRecord(drive.Context(t), []byte("x")) }()
		for {
			select {
			case err := <-done:
				if took := time.Since(start); err != nil || took < 3*time.Second {
					t.Errorf("after %v: %v; want success after 3s or more", took, err)
				}
				wantRecord(t, s, "after three refusals", "x")
				return
			case <-time.After(100 * time.Millisecond): // else a write may find no moment between two renewals
				if err := renew(t, l); err != nil {
					t.Errorf("renew: %v", err)
				}
			}
		}
	})
}

// TestRecordAfterRenewal: a write of the record waits for a renewal that is under way, and
// neither fails.
func TestRecordAfterRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, patiently("a"))
		drive.Hold(t, l)
		answer, renewing := make(chan struct{}), make(chan struct{}, 1)
		s.Fault(func(r Request) Fault {
			if r.Verb != "swap" || len(renewing) > 0 {
				return Fault{}
			}
			renewing <- struct{}{}
			return Fault{Hold: answer}
		})
		renewed, done := make(chan error, 1), make(chan error, 1)
		go func() { renewed <- l.Renew(drive.Context(t)) }()
		drive.Eventually(t, drive.Patience, "a renewal is under way", func() bool { return len(renewing) == 1 })
		go func() { done <- l.(locks.Recorder).SetRecord(drive.Context(t), []byte("x")) }()
		select {
		case err := <-done:
			close(answer)
			t.Fatalf("SetRecord has not waited: %v", err)
		case <-time.After(50 * time.Millisecond): // without waiting it would have written by now
		}
		close(answer)
		if err := <-renewed; err != nil {
			t.Errorf("renew: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("set record: %v", err)
		}
		for _, r := range s.Requests() {
			if r.Refused {
				t.Error("a write was refused")
			}
		}
	})
}

// TestRenewBesideRecord: a renewal does not wait for a write of the record whose answer does not
// come, whether or not that took effect.
func TestRenewBesideRecord(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"takes effect", "arrives late"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				l := at(t, s, patiently("a"))
				drive.Hold(t, l)
				answer, writing := make(chan struct{}), make(chan struct{}, 1)
				s.Fault(func(r Request) Fault {
					switch {
					case !ofRecord(r) || len(writing) > 0:
						return Fault{}
					case name == "takes effect":
						defer func() { writing <- struct{}{} }()
						return Fault{Hold: answer}
					}
					defer func() { writing <- struct{}{} }()
					return Fault{Late: answer}
				})
				done := make(chan error, 1)
				go func() { done <- l.(locks.Recorder).SetRecord(drive.Context(t), []byte("x")) }()
				drive.Eventually(t, drive.Patience, "the write is under way", func() bool { return len(writing) == 1 })
				for range 3 {
					if err := renew(t, l); err != nil {
						t.Errorf("renew: %v", err)
					}
				}
				close(answer)
				if err := <-done; err != nil {
					t.Errorf("set record: %v", err)
				}
				wantRecord(t, s, "in the end", "x")
				drive.Renew(t, l)
			})
		})
	}
}

// TestRecordOfAnother: a record that leaderrun did not write does not count as missing, does not
// keep anybody from the lock, and is replaced by the next record.
func TestRecordOfAnother(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*caslease.Cell){
		"too long":   func(c *caslease.Cell) { c.Record = bytes.Repeat([]byte("x"), locks.MaxRecord+1) },
		"no UTF-8":   func(c *caslease.Cell) { c.Record = []byte("\xff") },
		"unreadable": func(c *caslease.Cell) { c.BadRecord = true },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *sim) {
				l := at(t, s, options("a"))
				drive.Hold(t, l)
				s.Edit(leaseCell, spoil)
				got, err := l.(locks.Recorder).Record(drive.Context(t))
				if !errors.Is(err, locks.ErrUnavailable) || locks.Hint(err) != "delete the record" {
					t.Errorf("got %q, %v (hint: %s)", got, err, locks.Hint(err))
				}
				drive.Renew(t, l)
				setRecord(t, l, "ours")
				wantRecord(t, s, "replaced", "ours")
			})
		})
	}
}

// TestRecordExtendsNoLease: a write of the record does not move the moment from which the lease
// counts, and after the end of the lease nothing is written.
func TestRecordExtendsNoLease(t *testing.T) {
	bubble(t, func(t *testing.T, s *sim) {
		l := at(t, s, options("a"))
		drive.Hold(t, l)
		time.Sleep(9 * time.Second)
		setRecord(t, l, "x")
		time.Sleep(time.Second)
		verbs(s)
		if err := l.(locks.Recorder).SetRecord(drive.Context(t), []byte("y")); !errors.Is(err, locks.ErrLost) {
			t.Errorf("after the end of the lease: %v; want ErrLost", err)
		}
		if err := renew(t, l); !errors.Is(err, locks.ErrLost) {
			t.Errorf("renew: %v; want ErrLost", err)
		}
		if n := verbs(s); len(n) > 0 {
			t.Errorf("requests: %v; want none", n)
		}
	})
}
