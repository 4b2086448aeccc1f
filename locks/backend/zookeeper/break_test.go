package zookeeper_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A gap is a moment between two requests: before the nth answer to a request op is passed
// on.
type gap struct {
	name string
	op   int32
	nth  int
}

// between calls f once, in a gap of the requests through m.
func between(m *interceptor, g gap, f func()) {
	seen := 0 // only one connection uses it
	m.answers(func(op int32, _ []byte) bool {
		if op == g.op {
			if seen++; seen == g.nth {
				f()
			}
		}
		return true
	})
}

// unharmed checks that the holder still has the lock.
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

// testBreakOvertaken lets another contender take the lock during a Break, in unfair
// mode. Its node has the same path as the broken one's, and if it writes its record, also
// the same version. It keeps the lock.
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
	op, m := operate(t, s), intercept(t, s)
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
		t.Fatal("nobody took the lock in the gap")
	}
	unharmed(t, b, token)
	write(t, b)
	drive.Release(t, b)
}

// testBreakOvertakenInQueue checks the same in a queue: the next contender keeps the lock.
func testBreakOvertakenInQueue(t *testing.T, s *root) {
	for _, g := range []gap{{"", opMulti, 1}, {"", opGetChildren, 1}, {"", opGetData, 2}} {
		s := s.another(t)
		m := intercept(t, s)
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

// testBreakInWhicheverMode breaks the lock of a holder in the other mode. The holder learns of it at
// once, and the waiter leads with a greater token.
func testBreakInWhicheverMode(t *testing.T, s *root) {
	for mode, ours := range map[string]string{"?mode=fair": "?mode=unfair", "?mode=unfair": "?mode=fair"} {
		w, a := handle(t, s.URL()+"/p"+ours, options("w")), open(t, s.URL()+"/p"+mode, options("a"))
		old := drive.Hold(t, a).Token
		next, done := campaign(drive.Context(t), t, s.URL()+"/p"+mode, options("b"))
		if err := w.Break(drive.Context(t), old+1); !errors.Is(err, locks.ErrLost) {
			t.Errorf("%s, another token: got %v, want ErrLost", mode, err)
		}
		if err := w.Break(drive.Context(t), old); err != nil {
			t.Fatalf("%s by %s: %v", mode, ours, err)
		}
		if err := drive.LossOf(t, a); !errors.Is(err, locks.ErrLost) {
			t.Errorf("the holder's loss: %v", err)
		}
		if r := drive.Within(t, drive.Patience, done); r.Err != nil || r.Grant.Token <= old || r.Grant.Clean {
			t.Errorf("the next: %+v, %v; before: %d", r.Grant, r.Err, old)
		}
		drive.Release(t, a)
		drive.Release(t, next)
	}
}

// testBreakWaiter checks that a waiter cannot be broken, although its node has a token.
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

// testBreakUnheard checks that a Break whose answer was lost finds that the term has ended.
func testBreakUnheard(t *testing.T, s *root) {
	for mode, nth := range map[string]int{"?mode=fair": 2, "?mode=unfair": 3} {
		m := intercept(t, s)
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
			t.Errorf("%s: the holder's loss: %v", mode, err)
		}
		drive.Release(t, a)
	}
}
