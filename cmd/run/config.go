package run

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"

	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/slots"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/window"
)

// config returns what the options say about a run.
func (s *session) config(backend *url.URL, logger *slog.Logger) (c runner.Config, err error) {
	c = runner.Config{
		Lock:           s.Lock,
		Backend:        locks.Redact(backend),
		Store:          store(backend, os.Environ()),
		Holder:         s.ID,
		RunID:          fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()), // no other run on any machine has it
		Try:            s.Nonblock,
		ConnectTimeout: s.ConnectTimeout.D,
		Timing:         s.Timing(),
		Signal:         s.Signal.Signal,
		StopOnFailure:  s.OnRenewError.Value == "stop",
		ScrubEnv:       s.ScrubEnv,
		WaitChildren:   s.WaitChildren,
		Splay:          s.splay(),
		MinHold:        s.MinHold.D,
		MaxRuntime:     s.MaxRuntime.D,
		Restart: runner.Restart{
			OnFailure:   s.Restart.Value != "no",
			OnSuccess:   s.Restart.Value == "always",
			Delay:       s.RestartDelay.D,
			MaxDelay:    s.RestartMaxDelay.D,
			GiveUpAfter: s.GiveUpAfter.N,
		},
		Rejoin:   s.Rejoin,
		NoResign: s.NoResign,
		Strict:   s.Takeover.Value == "strict",
		Starter:  s.starters(),
		Logger:   logger,
	}
	if s.Wait.Given {
		c.Wait = &s.Wait.D
	}
	if s.Priority.Given {
		c.Priority = &s.Priority.N
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

// once returns the window that a run belongs to if it starts now, or nil without
// --once-per.
func (s *session) once() (*runner.Once, error) {
	if s.OncePer == "" {
		return nil, nil
	}
	schedule, err := window.Parse(s.OncePer, os.Getenv("CRON_TZ"))
	if err != nil {
		return nil, fmt.Errorf("--once-per: %w", err)
	}
	current := schedule.Window(s.Now())
	return &runner.Once{Schedule: schedule.String(), Window: current.Key, Label: current.Label, Attempt: s.OncePerAttempt}, nil
}

// hooks finds the commands of the hooks.
func (s *session) hooks() (runner.Hooks, error) {
	hooks := runner.Hooks{Timeout: s.HookTimeout.D}
	for _, h := range []struct {
		option, text string
		command      *proc.Command
	}{
		{"--on-standby", s.OnStandby, &hooks.Standby},
		{"--on-elected", s.OnElected, &hooks.Elected},
		{"--on-resign", s.OnResign, &hooks.Resign},
		{"--on-lost", s.OnLost, &hooks.Lost},
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

// open opens the lock, or one of its slots.
func (s *session) open(ctx context.Context, backend *url.URL, logger *slog.Logger, runID string, waiting func(locks.Waiting)) (locks.Lock, error) {
	o := locks.Options{
		Name:           s.Lock,
		Holder:         s.ID,
		TTL:            s.TTL.D,
		ConnectTimeout: s.ConnectTimeout.D,
		Version:        s.Version,
		RunID:          runID,
		Priority:       s.Priority.N,
		NoResign:       s.NoResign,
		Logger:         logger,
		Waiting:        waiting,
	}
	open := func(ctx context.Context, o locks.Options) (locks.Lock, error) {
		return s.Registry.Open(ctx, backend, o)
	}
	if !s.Slots.Given {
		return open(ctx, o)
	}
	lock, err := slots.Open(ctx, s.Slots.N, open, o)
	if err != nil {
		return nil, err // and not a nil *slots.Lock in an interface
	}
	return lock, nil
}
