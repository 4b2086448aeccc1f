package zookeeper_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/zookeeper/zktest"
)

// heldBy checks an error that tells who holds the lock.
func heldBy(t *testing.T, err error, want string) {
	t.Helper()
	held, ok := errors.AsType[*locks.HeldError](err)
	if !ok || held.Status.Holder != want {
		t.Errorf("got %v, want that %s holds it", err, want)
	}
}

// TestForget deletes the lock's nodes and no others, and nothing while the lock is
// held.
func TestForget(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"?mode=fair", "?mode=unfair"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := zktest.Start(t, zktest.Options{Java: keepEmpty})
			op := operate(t, s)
			a, w := handle(t, s.URL()+"/p"+mode, options("a")), handle(t, s.URL()+"/p", options("w"))
			if err := w.Forget(drive.Context(t)); err != nil {
				t.Errorf("with nothing there: %v", err)
			}
			drive.Hold(t, a)
			write(t, a)
			op.put(askNode, `{"token":9223372036854775807}`) // a later holder's
			op.put("/p/jobs%2Fnightly2%record", "another's")
			before := op.tree("/p")
			heldBy(t, w.Forget(drive.Context(t)), "a")
			if after := op.tree("/p"); strings.Join(after, " ") != strings.Join(before, " ") {
				t.Errorf("of %q is left %q", before, after)
			}
			unharmed(t, a, inspect(t, a).Token)
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

// TestForgetOvertaken: somebody takes the lock, in either mode, between the look
// at a free lock and the deletion. It keeps the lock, and its record.
func TestForgetOvertaken(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{Java: keepEmpty})
	i := 0
	for _, g := range []gap{
		{"after it is found free", opMulti, 1}, {"after it is seen", opGetData, 1}, {"after the queue is seen", opGetChildren, 1},
		{"after it is found empty", opGetChildren, 2}, {"after all is read", opGetData, 4},
	} {
		for _, mode := range []string{"?mode=fair", "?mode=unfair"} {
			i++
			root := fmt.Sprintf("/p%d", i)
			t.Run(mode+" "+g.name, func(t *testing.T) {
				first := handle(t, s.URL()+root, options("first"))
				drive.Hold(t, first)
				write(t, first)
				drive.Release(t, first) // which leaves an empty queue
				forgetOvertaken(t, s, root, mode, g)
			})
		}
	}
}

// TestForgetOvertakenLate: a queue that is missing when it is looked for may be
// there when the record is deleted.
func TestForgetOvertakenLate(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	op := operate(t, s)
	for i, mode := range []string{"?mode=fair", "?mode=unfair"} {
		root := fmt.Sprintf("/p%d", i)
		op.put(root+"/jobs%2Fnightly%record", "b's")
		forgetOvertaken(t, s, root, mode, gap{"", opGetData, 4})
	}
}

func forgetOvertaken(t *testing.T, s *zktest.Server, root, mode string, g gap) {
	m := meddle(t, s.Addr())
	w, a := handle(t, m.url()+root, options("w")), handle(t, s.URL()+root+mode, options("a"))
	var token uint64
	between(m, g, func() { token = drive.Hold(t, a).Token })
	err := w.Forget(drive.Context(t))
	if token == 0 {
		t.Fatal("nobody came between")
	}
	heldBy(t, err, "a")
	unharmed(t, a, token)
	recordIs(t, a, "b's")
	drive.Release(t, a)
}

// TestForgetStrangers: nodes that are not leaderrun's are left alone.
func TestForgetStrangers(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	op := operate(t, s)
	op.put("/p/jobs%2Fnightly/mine", "")
	op.put(recordNode, "b's")
	w := handle(t, s.URL()+"/p", options("w"))
	if err := w.Forget(drive.Context(t)); err == nil || errors.Is(err, locks.ErrHeld) || !strings.Contains(err.Error(), "not leaderrun's") {
		t.Errorf("got %v", err)
	}
	if left := op.tree("/p"); len(left) != 2 {
		t.Errorf("left: %q", left)
	}
}
