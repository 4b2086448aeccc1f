package operate

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
)

// A heldStore is a backend whose lock is held with a given ttl. Looks after the first may fail.
type heldStore struct {
	locks.Lock
	ttl    time.Duration
	later  func(context.Context) error
	looked bool
}

func (s *heldStore) Abilities(context.Context) ([]locks.Ability, error) {
	return []locks.Ability{locks.CanInspect, locks.CanAsk}, nil
}

func (s *heldStore) Inspect(ctx context.Context) (locks.State, error) {
	if s.looked {
		if err := s.later(ctx); err != nil {
			return locks.State{}, &locks.Error{Op: "inspect", Backend: "fake", Name: "x", Class: locks.ErrUnavailable, Err: err}
		}
	}
	s.looked = true
	return locks.State{Status: locks.Status{Held: true, Holder: "bob", Token: 1, TTL: s.ttl}}, nil
}

func (s *heldStore) Ask(context.Context, uint64, []byte) error { return nil }
func (s *heldStore) Asked() <-chan []byte                      { return nil }
func (s *heldStore) Close() error                              { return nil }

// operate does something with lock x of a backend for at most a second, and returns the exit status
// and what is printed.
func operate(l locks.Lock, do func(*operator) error) (complaints string, status int) {
	var said strings.Builder
	e := &env.Env{Registry: new(locks.Registry), Out: io.Discard, Console: output.NewConsole(&said)}
	e.Registry.Register("fake", func(context.Context, *url.URL, locks.Options) (locks.Lock, error) { return l, nil })
	p := &operator{e, options.NewValues()}
	p.opt.Backend, p.opt.Lock, p.opt.ConnectTimeout.D = "fake:", "x", time.Hour
	p.opt.Wait.D, p.opt.Wait.Given = time.Second, true
	status = e.Console.Report(do(p))
	return said.String(), status
}

// TestAnswers: when the time is up, the lock counts as held if the last look was answered, or one
// was lately. Otherwise the backend did not answer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	answers := func(context.Context) error { return nil }
	refuses := func(context.Context) error { return errors.New("connection refused") }
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	var all sync.WaitGroup
	for name, tt := range map[string]struct {
		ttl    time.Duration // in the answer
		later  func(context.Context) error
		status int
		says   string
	}{
		"answers":          {1, answers, output.ExitHeld, ""},
		"refuses":          {time.Hour, refuses, output.ExitHeld, ""},
		"refuses for long": {1, refuses, output.ExitUnavailable, `inspect "x" on fake: connection refused`},
		"hangs":            {time.Hour, hangs, output.ExitHeld, ""},
		"hangs for long":   {1, hangs, output.ExitUnavailable, `lock "x": no answer in time`},
	} {
		for command, do := range map[string]func(*operator) error{
			"wait":   func(p *operator) error { return p.await("free", 10*time.Millisecond) },
			"resign": func(p *operator) error { return p.resign("leaderrun resign", demand{}) },
		} {
			all.Go(func() {
				complaints, status := operate(&heldStore{ttl: tt.ttl, later: tt.later}, do)
				if status != tt.status || !strings.Contains(complaints, tt.says) {
					t.Errorf("%s, %s: got %d, %q; want %d", command, name, status, complaints, tt.status)
				}
			})
		}
	}
	all.Wait()
}
