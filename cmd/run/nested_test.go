package run

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// TestIsHolder: a holder is the enclosing leaderrun only if everything that identifies it
// is equal.
func TestIsHolder(t *testing.T) {
	t.Parallel()
	outer := socket.Answer{Lock: "x", Holder: "me", Token: 7, RunID: "0123", PID: 5}
	same := locks.Status{Held: true, Holder: "me", Token: 7, RunID: "0123", PID: 9, Since: time.Now()}
	if !isHolder(outer, same) {
		t.Error("the same run is not recognised")
	}
	for what, change := range map[string]func(*socket.Answer, *locks.Status){
		"another run":             func(_ *socket.Answer, s *locks.Status) { s.RunID = "4567" },
		"another term of the run": func(_ *socket.Answer, s *locks.Status) { s.Token = 6 },
		"another id":              func(_ *socket.Answer, s *locks.Status) { s.Holder = "you" },
		"no run":                  func(_ *socket.Answer, s *locks.Status) { s.RunID = "" },
		"no token":                func(_ *socket.Answer, s *locks.Status) { s.Token = 0 },
		"no holder":               func(_ *socket.Answer, s *locks.Status) { s.Holder = "" },
		"nothing":                 func(_ *socket.Answer, s *locks.Status) { *s = locks.Status{Held: true} },
		"an older leaderrun":      func(a *socket.Answer, _ *locks.Status) { a.RunID = "" },
		"older ones in both":      func(a *socket.Answer, s *locks.Status) { a.RunID, s.RunID = "", "" },
		"no token in either":      func(a *socket.Answer, s *locks.Status) { a.Token, s.Token = 0, 0 },
		"an empty answer":         func(a *socket.Answer, s *locks.Status) { *a, *s = socket.Answer{}, locks.Status{} },
	} {
		a, s := outer, same
		if change(&a, &s); isHolder(a, s) {
			t.Errorf("%s: mistaken for the enclosing leaderrun", what)
		}
	}
}

// TestReenterAsksAgain: we do not run under the lease of a leaderrun whose last answer does
// not prove that it holds the lock, whatever it answered before.
func TestReenterAsksAgain(t *testing.T) {
	t.Parallel()
	before := socket.Answer{Lock: "x", Token: 7, RunID: "0123"}
	for what, now := range map[string]socket.Answer{
		"lost":         {Lock: "x", Token: 7, RunID: "0123", Lost: true},
		"over":         {Lock: "x", Token: 7, RunID: "0123", Deadline: 1},
		"another term": {Lock: "x", Token: 8, RunID: "0123"},
		"another run":  {Lock: "x", Token: 7, RunID: "4567"},
		"another lock": {Lock: "y", Token: 7, RunID: "0123"},
	} {
		s, err := socket.Serve(func() socket.Answer { return now })
		if err != nil {
			t.Fatal(err)
		}
		p := &session{env: &env.Env{Console: output.NewConsole(os.Stderr), Programs: new(helper.Programs)}, opt: options.NewValues()}
		link := socket.Link{Answer: before, Address: s.Address()}
		nowhere := proc.Command{Path: filepath.Join(t.TempDir(), "none"), Args: []string{"none"}}
		if again, err := p.reenter(new(nest), link, nowhere, nil); again || err != nil {
			t.Errorf("%s: entered, %v", what, err)
		}
		n := &nest{links: []socket.Link{link}}
		status := locks.Status{Token: 7, RunID: "0123"}
		if err := p.enter(n, &runner.OuterError{Status: status}, nowhere); !errors.Is(err, locks.ErrLost) {
			t.Errorf("%s: got %v, want a loss", what, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if again, err := p.reenter(n, link, nowhere, nil); again || err != nil {
			t.Errorf("gone: entered, %v", err)
		}
	}
}

// TestReenterSignalled: a signal that was caught before the command could get it ends us.
func TestReenterSignalled(t *testing.T) {
	t.Parallel()
	a := socket.Answer{Lock: "x", Token: 7, RunID: "0123"}
	s, err := socket.Serve(func() socket.Answer { return a })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	caught := make(chan os.Signal, 2)
	caught <- syscall.SIGUSR1
	caught <- syscall.SIGTERM
	p := &session{env: &env.Env{Console: output.NewConsole(os.Stderr)}, opt: options.NewValues(), signals: &listener{caught}}
	nowhere := proc.Command{Path: filepath.Join(t.TempDir(), "none"), Args: []string{"none"}}
	link := socket.Link{Answer: a, Address: s.Address()}
	n := &nest{log: slog.New(slog.DiscardHandler)}
	var signalled *runner.SignalError
	if _, err := p.reenter(n, link, nowhere, nil); !errors.As(err, &signalled) || signalled.Signal != syscall.SIGTERM {
		t.Errorf("got %v, want the signal", err)
	}
	var start *proc.StartError
	if _, err := p.reenter(n, link, nowhere, nil); !errors.As(err, &start) {
		t.Errorf("got %v, want an attempt to run the command", err)
	}
}

// TestInStoreOfOthers: an enclosing leaderrun whose store has no description is not taken
// for the holder because of that.
func TestInStoreOfOthers(t *testing.T) {
	t.Parallel()
	n := &nest{links: []socket.Link{{Answer: socket.Answer{Lock: "x"}}}}
	if _, ok := n.inStore(); ok {
		t.Error("an empty description was taken for a store")
	}
}
