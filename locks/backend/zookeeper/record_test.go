package zookeeper_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// More numbers of requests.
const (
	opExists  = 3
	opGetData = 4
	opMulti   = 14
)

func recordIs(t testing.TB, l *queue.Lock, want string) {
	t.Helper()
	if got, err := l.Record(drive.Context(t)); err != nil || string(got) != want || got == nil {
		t.Errorf("the record is %q, %v; want %q", got, err, want)
	}
}

// testRecordOvertaken lets another contender take the lock during a SetRecord. In unfair
// mode its node has the path and the version that ours had.
func testRecordOvertaken(t *testing.T, s *root) {
	const node = "/p/jobs%2Fnightly"
	for _, tt := range []struct {
		name, before, want string
		op                 int32 // the request whose answer is delayed
		nth                int
		meanwhile          func(t *testing.T, b *queue.Lock)
	}{
		{"by a holder", "before", "before", opMulti, 1, idle},
		{"by a holder, early", "before", "before", opGetData, 2, idle},
		{"by a first record", "", "b's", opMulti, 1, write},
		{"by another record", "before", "b's", opMulti, 1, write},
		{"by another record, early", "before", "b's", opGetData, 2, write},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := s.another(t)
			op := operate(t, s)
			m := intercept(t, s)
			a := handle(t, m.url()+"/p?mode=unfair", options("a"))
			b := handle(t, s.URL()+"/p?mode=unfair", options("b"))
			drive.Hold(t, a)
			if tt.before != "" {
				op.put(recordNode, tt.before)
			}
			seen := 0 // by one connection only
			m.answers(func(request int32, _ []byte) bool {
				if request != tt.op {
					return true
				}
				if seen++; seen == tt.nth {
					op.delete(node)
					drive.Hold(t, b)
					tt.meanwhile(t, b)
				}
				return true
			})
			if err := a.SetRecord(drive.Context(t), []byte("a's")); !errors.Is(err, locks.ErrLost) {
				t.Errorf("got %v, want ErrLost", err)
			}
			recordIs(t, b, tt.want)
			drive.Renew(t, b)
			write(t, b)
			drive.Release(t, b)
		})
	}
}

func idle(*testing.T, *queue.Lock) {}

func write(t *testing.T, b *queue.Lock) {
	if err := b.SetRecord(drive.Context(t), []byte("b's")); err != nil {
		t.Error(err)
	}
}

// testRecordAnswersLost checks that a write without an answer is repeated, in each mode and
// each step.
func testRecordAnswersLost(t *testing.T, s *root) {
	for _, mode := range []string{"", "?mode=unfair"} {
		for lost := 1; lost <= 2; lost++ {
			t.Run(mode, func(t *testing.T) {
				t.Parallel()
				s := s.another(t)
				m := intercept(t, s)
				a := handle(t, m.url()+"/p"+mode, options("a"))
				drive.Hold(t, a)
				n := 0
				var mu sync.Mutex
				m.answers(func(op int32, _ []byte) bool {
					mu.Lock()
					defer mu.Unlock()
					if op == opMulti {
						n++
					}
					return op != opMulti || n != lost
				})
				if err := a.SetRecord(drive.Context(t), []byte("x")); err != nil {
					t.Error(err)
				}
				m.answers(nil)
				recordIs(t, a, "x")
				drive.Renew(t, a)
				drive.Release(t, a)
			})
		}
	}
}

// testReadsAreCurrent checks that each read follows a transaction, which a server that
// lags behind answers only when it knows all earlier ones.
func testReadsAreCurrent(t *testing.T, s *root) {
	m := intercept(t, s)
	l := handle(t, m.url()+"/p", options("a"))
	for what, f := range map[string]func() error{
		"record":  func() error { _, err := l.Record(drive.Context(t)); return err },
		"inspect": func() error { _, err := l.Inspect(drive.Context(t)); return err },
		"ask":     func() error { return l.Ask(drive.Context(t), 1, nil) },
		"list":    func() error { _, _, err := l.List(drive.Context(t), ""); return err },
		"forget":  func() error { return l.Forget(drive.Context(t)) },
		"break": func() error {
			if err := l.Break(drive.Context(t), 1); !errors.Is(err, locks.ErrLost) {
				return err
			}
			return nil
		},
	} {
		before := m.count(opMulti)
		if err := f(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if m.count(opMulti) == before {
			t.Errorf("%s reads without a transaction", what)
		}
	}
}

// testCostOfListening checks that watching for requests costs one small read for each
// renewal, after which the watch starts again.
func testCostOfListening(t *testing.T, s *root) {
	m := intercept(t, s)
	l := handle(t, m.url()+"/p", options("a"))
	drive.Hold(t, l)
	const renewals = 10
	for i := range renewals {
		drive.Eventually(t, drive.Patience, "the holder listens", func() bool { return m.count(opExists) == i+1 })
		drive.Renew(t, l)
	}
	if n := m.count(opMulti); n != renewals {
		t.Errorf("%d renewals were %d transactions", renewals, n)
	}
	if n := m.count(opExists); n > renewals+1 {
		t.Errorf("%d renewals made %d reads for the watch", renewals, n)
	}
	t.Logf("%d renewals: %d transactions, %d reads of our node, %d reads for requests", renewals, m.count(opMulti), m.count(opGetChildren), m.count(opExists))
	drive.Release(t, l)
}
