package run

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/window"
)

// config returns what the options say about a run.
func (s *session) config(backend *url.URL, logger *slog.Logger) (c runner.Options, err error) {
	c = runner.Options{
		Lock:           s.opt.Lock,
		Backend:        known.Redact(backend),
		Store:          store(backend, os.Environ()),
		Holder:         s.opt.ID,
		RunID:          newRunID(),
		Try:            s.opt.Nonblock,
		ConnectTimeout: s.opt.ConnectTimeout.D,
		Timing:         s.opt.Timing(),
		Signal:         s.opt.Signal.Signal,
		ScrubEnv:       s.opt.ScrubEnv,
		WaitChildren:   s.opt.WaitChildren,
		Splay:          s.splay(),
		MinHold:        s.opt.MinHold.D,
		MaxRuntime:     s.opt.MaxRuntime.D,
		Restart: runner.Restart{
			OnFailure:   s.opt.Restart.Value != "no",
			OnSuccess:   s.opt.Restart.Value == "always",
			Delay:       s.opt.RestartDelay.D,
			MaxDelay:    s.opt.RestartMaxDelay.D,
			GiveUpAfter: s.opt.GiveUpAfter.N,
		},
		Rejoin:   s.opt.Rejoin,
		NoResign: s.opt.NoResign,
		Strict:   s.opt.Takeover.Value == "strict",
		Logger:   logger,
	}
	if s.opt.Wait.Given {
		left := max(s.opt.Wait.D-s.waited, 0)
		c.Wait = &left
	}
	if s.opt.Priority.Given {
		c.Priority = &s.opt.Priority.N
	}
	if c.Once, err = s.once(); err != nil {
		return c, err
	}
	if c.Hooks, err = s.hooks(); err != nil {
		return c, err
	}
	c.Health, err = s.health()
	return c, err
}

// newRunID returns a name that no other run on any machine has.
func newRunID() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }

// once returns the window that a run belongs to if it starts now, or nil without
// --once-per.
func (s *session) once() (*runner.Once, error) {
	if s.opt.OncePer == "" {
		return nil, nil
	}
	schedule, err := window.Parse(s.opt.OncePer, os.Getenv("CRON_TZ"))
	if err != nil {
		return nil, fmt.Errorf("--once-per: %w", err)
	}
	current := schedule.Window(s.env.Now())
	return &runner.Once{Schedule: schedule.String(), Window: current.Key, Begins: current.Begins, Label: current.Label, Attempt: s.opt.OncePerAttempt}, nil
}

// hooks finds the commands of the hooks.
func (s *session) hooks() (runner.Hooks, error) {
	hooks := runner.Hooks{Timeout: s.opt.HookTimeout.D}
	for _, h := range []struct {
		option, text string
		command      *proc.Command
	}{
		{"--on-standby", s.opt.OnStandby, &hooks.Standby},
		{"--on-elected", s.opt.OnElected, &hooks.Elected},
		{"--on-resign", s.opt.OnResign, &hooks.Resign},
		{"--on-lost", s.opt.OnLost, &hooks.Lost},
	} {
		if h.text == "" {
			continue
		}
		var err error
		if *h.command, err = options.CommandOf(h.option, h.text); err != nil {
			return hooks, err
		}
	}
	return hooks, nil
}
