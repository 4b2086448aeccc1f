package zookeeper_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A gap is the moment before the answer to a request is passed on.
type gap struct {
	name string
	op   int32
	nth  int
}

// between has f happen once in a gap of the one who speaks through m.
func between(m *meddler, g gap, f func()) {
	seen := 0 // by one connection only
	m.answers(func(op int32, _ []byte) bool {
		if op == g.op {
			if seen++; seen == g.nth {
				f()
			}
		}
		return true
	})
}

// unharmed checks that the holder is there as ever.
func unharmed(t *testing.T, l *queue.Lock, token uint64) {
	t.Helper()
	drive.Renew(t, l)
	select {
	case err := <-l.Lost():
		t.Errorf("the new holder: %v", err)
	default:
	}
	if s, err := l.Inspect(drive.Context(t)); err != nil || !s.Held || s.Token != token {
		t.Errorf("the new holder is shown as %+v, %v", s.Status, err)
	}
}

// testBreakOvertaken has another take the lock in the midst of a Break, in unfair
// mode: its node has the same path, and if it writes its record the version, too,
// that the broken one's has. It keeps the lock.
func testBreakOvertaken(t *testing.T, s *root) {
	for _, g := range []gap{
		{"before it is read", opMulti, 1}, {"after it is seen", opGetData, 1}, {"before the record is read", opGetData, 2},
		{"after it is read", opGetData, 3}, {"after it is claimed", opMulti, 2},
	} {
		for name, meanwhile := range map[string]func(*testing.T, *queue.Lock){"holder": idle, "writing holder": write} {
			for _, before := range []string{"", "a's"} {
				t.Run(fmt.Sprintf("%s %s, record %q", name, g.name, before), func(t *testing.T) {
					breakOvertaken(t, s.another(t), g, before, meanwhile)
				})
			}
		}
	}
}

func breakOvertaken(t *testing.T, s *root, g gap, before string, meanwhile func(*testing.T, *queue.Lock)) {
	op, m := operate(t, s), meddle(t, s)
	w := handle(t, m.url()+"/p", options("w"))
	a, b := handle(t, s.URL()+"/p?mode=unfair", options("a")), handle(t, s.URL()+"/p?mode=unfair", options("b"))
	old := drive.Hold(t, a).Token
	if before != "" {
		op.put(recordNode, before)
	}
	var token uint64
	between(m, g, func() {
		op.delete("/p/jobs%2Fnightly")
		token = drive.Hold(t, b).Token
		meanwhile(t, b)
	})
	if err := w.Break(drive.Context(t), old); !errors.Is(err, locks.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	if token == 0 {
		t.Fatal("nobody came between")
	}
	unharmed(t, b, token)
	write(t, b)
	drive.Release(t, b)
}

// testBreakOvertakenInQueue: whoever comes next in a queue keeps the lock.
func testBreakOvertakenInQueue(t *testing.T, s *root) {
	for _, g := range []gap{{"", opMulti, 1}, {"", opGetChildren, 1}, {"", opGetData, 2}} {
		s := s.another(t)
		m := meddle(t, s)
		w, a := handle(t, m.url()+"/p?mode=unfair", options("w")), open(t, s.URL()+"/p", options("a"))
		old := drive.Hold(t, a).Token
		next, done := campaign(drive.Context(t), t, s.URL()+"/p", options("b"))
		var token uint64
		between(m, g, func() {
			drive.Release(t, a)
			token = drive.Within(t, drive.Patience, done).Grant.Token
		})
		if err := w.Break(drive.Context(t), old); !errors.Is(err, locks.ErrLost) || token == 0 {
			t.Errorf("got %v, want ErrLost; the next token is %d", err, token)
		}
		unharmed(t, next.(*queue.Lock), token)
		drive.Release(t, next)
	}
}

// testBreakInWhicheverMode: the mode of who breaks a lock does not matter. The
// holder is told at once, and the waiter leads with a greater token.
func testBreakInWhicheverMode(t *testing.T, s *root) {
	modes := []string{"?mode=fair", "?mode=unfair"}
	for _, mode := range modes {
		for _, ours := range modes {
			w, a := handle(t, s.URL()+"/p"+ours, options("w")), open(t, s.URL()+"/p"+mode, options("a"))
			old := drive.Hold(t, a).Token
			next, done := campaign(drive.Context(t), t, s.URL()+"/p"+mode, options("b"))
			for _, wrong := range []uint64{0, old - 1, old + 1} {
				if err := w.Break(drive.Context(t), wrong); !errors.Is(err, locks.ErrLost) {
					t.Errorf("%s, token %d instead of %d: got %v, want ErrLost", mode, wrong, old, err)
				}
			}
			drive.Renew(t, a)
			if err := w.Break(drive.Context(t), old); err != nil {
				t.Fatalf("%s by %s: %v", mode, ours, err)
			}
			if err := drive.LossOf(t, a); !errors.Is(err, locks.ErrLost) {
				t.Errorf("the holder hears %v", err)
			}
			if r := drive.Within(t, drive.Patience, done); r.Err != nil || r.Grant.Token <= old || r.Grant.Clean {
				t.Errorf("the next: %+v, %v; before: %d", r.Grant, r.Err, old)
			}
			drive.Release(t, a)
			drive.Renew(t, next)
			drive.Release(t, next)
		}
	}
}

// testBreakWaiter: who waits has no term, although its node has a token.
func testBreakWaiter(t *testing.T, s *root) {
	op := operate(t, s)
	w, a := handle(t, s.URL()+"/p", options("w")), open(t, s.URL()+"/p", options("a"))
	drive.Hold(t, a)
	next, done := campaign(drive.Context(t), t, s.URL()+"/p", options("b"))
	const queue = "/p/jobs%2Fnightly"
	_, stat, err := op.Get(queue + "/" + op.entries(queue)[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Break(drive.Context(t), uint64(stat.Czxid)); !errors.Is(err, locks.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	drive.Release(t, a)
	if r := drive.Within(t, drive.Patience, done); r.Err != nil {
		t.Errorf("the waiter: %v", r.Err)
	}
	drive.Release(t, next)
}

// testBreakUnheard: a Break whose answer is lost finds the term over.
func testBreakUnheard(t *testing.T, s *root) {
	for mode, nth := range map[string]int{"?mode=fair": 2, "?mode=unfair": 3} {
		m := meddle(t, s)
		w, a := handle(t, m.url()+"/p", options("w")), open(t, s.URL()+"/p"+mode, options("a"))
		token := drive.Hold(t, a).Token
		lost := 0
		m.answers(func(op int32, _ []byte) bool {
			if op == opMulti {
				lost++
			}
			return op != opMulti || lost != nth
		})
		if err := w.Break(drive.Context(t), token); !errors.Is(err, locks.ErrLost) {
			t.Errorf("%s: got %v, want ErrLost", mode, err)
		}
		if err := drive.LossOf(t, a); !errors.Is(err, locks.ErrLost) {
			t.Errorf("%s: the holder hears %v", mode, err)
		}
		drive.Release(t, a)
	}
}
