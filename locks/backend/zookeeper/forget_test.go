package zookeeper_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// heldBy checks that an error says who holds the lock.
func heldBy(t *testing.T, err error, want string) {
	t.Helper()
	held, ok := errors.AsType[*locks.HeldError](err)
	if !ok || held.Status.Holder != want {
		t.Errorf("got %v, want a HeldError with the holder %s", err, want)
	}
}

// testForget checks that Forget deletes the lock's nodes and no others, and nothing while
// the lock is held.
func testForget(t *testing.T, s *root) {
	for _, mode := range []string{"?mode=fair", "?mode=unfair"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := s.another(t)
			op := operate(t, s)
			a, w := handle(t, s.URL()+"/p"+mode, options("a")), handle(t, s.URL()+"/p", options("w"))
			drive.Hold(t, a)
			write(t, a)
			op.put(askNode, `{"token":9223372036854775807}`) // a later holder's
			op.put("/p/jobs%2Fnightly2%record", "another's")
			before := op.tree("/p")
			heldBy(t, w.Forget(drive.Context(t)), "a")
			if after := op.tree("/p"); strings.Join(after, " ") != strings.Join(before, " ") {
				t.Errorf("the nodes were %q, and are %q", before, after)
			}
			unharmed(t, a, drive.Inspect(t, a).Token)
			drive.Release(t, a)
			if err := w.Forget(drive.Context(t)); err != nil {
				t.Error(err)
			}
			if left := op.tree("/p"); len(left) != 1 || left[0] != "/p/jobs%2Fnightly2%record" {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// testForgetOvertaken lets somebody take the lock, in either mode, between the look
// at a free lock and the deletion. They keep the lock, and its record.
func testForgetOvertaken(t *testing.T, s *root) {
	for _, g := range []gap{
		{"after it is found free", opMulti, 1}, {"after it is seen", opGetData, 1}, {"after the queue is seen", opGetChildren, 1},
		{"after it is found empty", opGetChildren, 2}, {"after all is read", opGetData, 4},
	} {
		for _, mode := range []string{"?mode=fair", "?mode=unfair"} {
			t.Run(mode+" "+g.name, func(t *testing.T) {
				s := s.another(t)
				first := handle(t, s.URL()+"/p", options("first"))
				drive.Hold(t, first)
				write(t, first)
				drive.Release(t, first) // leaves an empty queue
				forgetOvertaken(t, s, mode, g)
			})
		}
	}
}

// testForgetOvertakenLate lets somebody create a missing queue after Forget has looked for
// it, and before the record is deleted.
func testForgetOvertakenLate(t *testing.T, s *root) {
	for _, mode := range []string{"?mode=fair", "?mode=unfair"} {
		s := s.another(t)
		operate(t, s).put(recordNode, "b's")
		forgetOvertaken(t, s, mode, gap{"", opGetData, 4})
	}
}

func forgetOvertaken(t *testing.T, s *root, mode string, g gap) {
	m := intercept(t, s)
	w, a := handle(t, m.url()+"/p", options("w")), handle(t, s.URL()+"/p"+mode, options("a"))
	var token uint64
	between(m, g, func() { token = drive.Hold(t, a).Token })
	err := w.Forget(drive.Context(t))
	if token == 0 {
		t.Fatal("nobody took the lock in the gap")
	}
	heldBy(t, err, "a")
	unharmed(t, a, token)
	recordIs(t, a, "b's")
	drive.Release(t, a)
}

// testForgetStrangers checks that Forget leaves nodes alone that are not leaderrun's.
func testForgetStrangers(t *testing.T, s *root) {
	op := operate(t, s)
	op.put("/p/jobs%2Fnightly", "leaderrun queue")
	op.put("/p/jobs%2Fnightly/mine", "")
	op.put(recordNode, "b's")
	w := handle(t, s.URL()+"/p", options("w"))
	if err := w.Forget(drive.Context(t)); !errors.Is(err, locks.ErrUsage) || !strings.Contains(err.Error(), "jobs%2Fnightly/mine was not made by leaderrun") {
		t.Errorf("got %v", err)
	}
	if left := op.tree("/p"); len(left) != 2 {
		t.Errorf("left: %q", left)
	}
}
