package faults

import (
	"math/rand/v2"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leaderrun/leaderrun/locks/backend/spanner/spannertest"
)

// An answer is what becomes of a request to Spanner.
type answer = func(*spannertest.Call) ([]byte, error)

// spannerStore is a service that keeps its data, and may answer anything.
func spannerStore(t *testing.T, p plan) *store {
	s := spannertest.Start(t)
	d, front := s.New(false), s.Front(t)
	fails := func(code codes.Code) answer {
		return func(*spannertest.Call) ([]byte, error) { return nil, status.Error(code, "injected") }
	}
	all := []fault{
		{"server restarted", func(n *nemesis, _ *machine) bool {
			front.Stop()
			n.pass()
			front.Start()
			return true
		}},
		{"server frozen", func(n *nemesis, _ *machine) bool {
			s.Pause()
			n.pass()
			s.Resume()
			return true
		}},
		spannerAnswers(front, "429 too many requests", 70, fails(codes.ResourceExhausted)),
		spannerAnswers(front, "503 unavailable", 70, fails(codes.Unavailable)),
		spannerAnswers(front, "transactions aborted", 70, fails(codes.Aborted)),
		spannerAnswers(front, "credentials withdrawn", 100, fails(codes.PermissionDenied)),
		spannerAnswers(front, "credentials expired", 100, fails(codes.Unauthenticated)),
		spannerAnswers(front, "sessions deleted", 30, func(*spannertest.Call) ([]byte, error) {
			return nil, status.Error(codes.NotFound, "Session not found: injected")
		}),
		spannerAnswers(front, "requests duplicated", 50, func(c *spannertest.Call) ([]byte, error) {
			_, _ = c.Pass()
			return c.Pass()
		}),
		spannerAnswers(front, "answers lost", 50, func(c *spannertest.Call) ([]byte, error) {
			_, _ = c.Pass()
			return nil, status.Error(codes.Unavailable, "injected")
		}),
	}
	if p.strict {
		all = append(all, fault{"lock deleted", func(*nemesis, *machine) bool {
			if len(d.Exec("SELECT name FROM leaderrun_locks WHERE state LIKE '%\"held\"%'")) == 0 {
				return false // nobody has the lock
			}
			d.Exec("DELETE FROM leaderrun_locks WHERE part = 0")
			return true
		}})
	}
	return &store{
		servers: []string{front.Addr()}, faults: all,
		env: func(addrs []string) []string { return []string{"LEADERRUN_BACKEND=" + d.URL(addrs[0]).String()} },
	}
}

// spannerAnswers gives the given percentage of requests an answer.
func spannerAnswers(front *spannertest.Front, name string, share int, as answer) fault {
	return fault{name, func(n *nemesis, _ *machine) bool {
		var mu sync.Mutex
		r := rand.New(rand.NewPCG(n.rand.Uint64(), 0))
		front.Answer(func(c *spannertest.Call) ([]byte, error) {
			mu.Lock()
			hit := r.IntN(100) < share
			mu.Unlock()
			if hit {
				return as(c)
			}
			return c.Pass()
		})
		n.pass()
		front.Answer((*spannertest.Call).Pass)
		return true
	}}
}
