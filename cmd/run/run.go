// Package run runs a command under a lock: it turns the values of options into a run of
// package runner, and what that tells into messages, metrics and an exit status.
package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/locks/recipe/slots"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/notify"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// Command is the subcommand run.
func Command(e *env.Env) *options.Command {
	return &options.Command{
		Name:  "run",
		Usage: "run a command while holding a lock (the default)",
		Args:  "[--] COMMAND [ARG...]",
		Job:   true,
		Define: func() ([]options.Option, func(*options.Request) error) {
			v := options.NewValues()
			return v.Table(), func(r *options.Request) error {
				s := &session{Env: e, Values: v}
				s.begin()
				defer s.end()
				return s.run(r)
			}
		},
	}
}

// A session is one use of leaderrun run.
type session struct {
	*env.Env
	*options.Values
	starter starter // of the first job; nil: none was begun, or it was used
}

// begin starts the processes that a run is going to need, before anything else is
// done: to start takes them longer than all that we do until they are needed. Inside a
// job none may be needed, as the lock may be ours already.
func (s *session) begin() {
	if os.Getenv("LEADERRUN_SOCKET") != "" {
		return
	}
	if u, err := locks.Parse(s.Backend); err == nil && !slices.Contains(s.Registry.Schemes(), u.Scheme) {
		s.Programs.Begin(u.Scheme)
	}
	s.starter = newStarter()
}

// end ends what was begun and not used.
func (s *session) end() {
	s.Programs.End()
	if s.starter != nil {
		s.starter.Close()
	}
}

// run checks everything that can be checked before a lock is taken, then hands
// over to the runner.
func (s *session) run(r *options.Request) error {
	signals := listen()
	if s.ID == "" {
		s.ID = env.NewID()
	}
	if s.Lock == "" && r.Given("lock") { // such as "$UNSET"
		return locks.CheckName(s.Lock)
	}
	args, err := s.command(r.Args)
	if err != nil {
		return err
	}
	if err := s.Term.LogTo(s.LogFile); err != nil {
		return err
	}
	logger := s.Term.Start(s.Messages())
	if err := s.check(r); err != nil {
		return err
	}
	backend, err := locks.Parse(s.Backend)
	if err != nil {
		return err
	}
	command := proc.Command{Args: args, Env: os.Environ()}
	if command.Path, err = proc.Find(args[0]); err != nil {
		return misnamed(r.Line, args[0], err)
	}
	nested := s.nest(backend)
	if outer, ok := nested.inStore(); ok {
		if again, err := s.reenter(nested, outer, command); again {
			return err
		}
	}
	if s.Verbose > 0 || s.TraceRenewals || s.LogFile != "" || s.Events != "" {
		<-signals.ready // what we write to may be a pipe that nobody reads
	}
	if r.Setting("backend").Rank == options.Default {
		logger.Info("no backend was chosen; the lock covers this machine only", "backend", "file")
	}
	exit, err := s.supervise(backend, command, nested, signals, logger)
	var outer *runner.OuterError
	switch {
	case errors.As(err, &outer):
		return s.enter(nested, outer, command)
	case err != nil:
		return s.exit(s.explain(err))
	}
	return output.ExitWith(exit.Status())
}

// misnamed completes the error about a command that does not exist: with a hint,
// if its name is nearly that of a subcommand and no "--" came before it, or is
// the URL of a backend, which may have a password.
func misnamed(l *options.Line, name string, err error) error {
	near := locks.Nearest(name, options.Names(l.Commands))
	var start *proc.StartError
	switch {
	case near != "" && !l.Dashed:
		return output.WithHint(err, fmt.Sprintf("did you mean the subcommand %q?", near))
	case strings.Contains(name, "://") && errors.As(err, &start):
		start.Command = locks.RedactText(name)
		return output.WithHint(err, "name a backend with --backend")
	}
	return err
}

// exit gives an error the exit status that the user may choose: that of a lock that
// is held, or of a window that needs no run.
func (s *session) exit(err error) error {
	var held *locks.HeldError
	switch {
	case errors.As(err, new(*runner.SkippedError)) && s.Conflict.Given:
		return &output.Exit{Status: s.Conflict.N, Err: err, Quiet: true}
	case errors.As(err, new(*runner.SkippedError)):
		return &output.Exit{Err: err, Quiet: true}
	case errors.As(err, &held) && !s.Nonblock: // the wait ran out
		return &output.Exit{Status: s.Conflict.N, Err: output.Reword(err, "lock %q: timed out: still %v", s.Lock, held)}
	case output.Status(err) == output.ExitHeld:
		return &output.Exit{Status: s.Conflict.N, Err: err, Quiet: true}
	}
	return err
}

// supervise campaigns for the lock and runs the command under it.
func (s *session) supervise(backend *url.URL, command proc.Command, nested *nest, signals *listener, logger *slog.Logger) (proc.Exit, error) {
	events, err := output.OpenEvents(s.Events)
	if err != nil {
		return proc.Exit{}, err
	}
	defer events.Close()

	line, trace := s.Term.WaitLine(s.Quiet), s.Term.Tracer(s.TraceRenewals, s.Messages()) // before anybody else may log
	if s.starter == nil {
		s.starter = newStarter()
	}
	proc.BeInit()
	if err := s.contain(s.starter); err != nil {
		return proc.Exit{}, err
	}
	once, err := s.once(s.Now())
	if err != nil {
		return proc.Exit{}, err
	}
	hooks, health, err := s.commandsOf()
	if err != nil {
		return proc.Exit{}, err
	}
	metrics, err := s.exporter(logger) // when nothing is wrong with the options
	if err != nil {
		return proc.Exit{}, err
	}
	defer metrics.close()
	service := newService(s.Values, logger)
	defer service.manager.Close()
	command.Env = notify.JobEnvironment(command.Env, s.NotifyJob)

	runID := newRunID()
	return runner.Run(context.Background(), runner.Config{
		Command: command,
		Lock:    s.Lock,
		Backend: locks.Redact(backend),
		Store:   store(backend, os.Environ()),
		Holder:  s.ID,
		RunID:   runID,
		Open: func(ctx context.Context, waiting func(locks.Waiting)) (locks.Lock, error) {
			lock, err := s.open(ctx, backend, locks.Options{
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
			})
			if err == nil && !locks.IsPermanent(lock) { // a death without a release would cost a TTL
				<-signals.ready
			}
			return lock, err
		},
		Try:            s.Nonblock,
		Wait:           s.waitLimit(),
		ConnectTimeout: s.ConnectTimeout.D,
		Timing:         s.Timing(),
		Signal:         s.Signal.Signal,
		StopOnFailure:  s.OnRenewError.Value == "stop",
		ScrubEnv:       s.ScrubEnv,
		WaitChildren:   s.WaitChildren,
		Splay:          s.splayed(),
		MinHold:        s.MinHold.D,
		MaxRuntime:     s.MaxRuntime.D,
		Restart:        s.restarts(),
		Rejoin:         s.Rejoin,
		Hooks:          hooks,
		Health:         health,
		NoResign:       s.NoResign,
		Once:           once,
		Strict:         s.Takeover.Value == "strict",
		Priority:       s.priority(),
		Signals:        signals.caught,
		Starter:        s.starters(),
		Logger:         logger,
		Events: func(e event.Event) {
			events.Write(e)
			service.event(e)
			s.Term.Event(e)
			trace.Event(e)
			metrics.event(e)
			if e.Kind == event.Rejoining {
				line.Again()
			}
		},
		Renewed: func(r keepalive.Renewal) {
			trace.Renewed(r)
			metrics.renewed(r)
		},
		Heartbeat: metrics.alive(service.alive()),
		NotOfJob:  metrics.is,
		Waiting: func(w locks.Waiting) {
			signals.rest()
			metrics.waiting(w)
			line.Show(w)
		},
		CampaignEnded: func() {
			signals.rest()
			<-signals.ready
			line.Wipe()
		},
		Outer:    nested.holds(),
		Terminal: signals.terminal,
	})
}

// open makes a handle on the lock, or on one of its slots.
func (s *session) open(ctx context.Context, backend *url.URL, o locks.Options) (locks.Lock, error) {
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

// command returns what to run, as an argument vector, and names the lock after
// it if it has no name.
func (s *session) command(args []string) ([]string, error) {
	switch {
	case s.ShellCommand != "" && len(args) > 0:
		return nil, locks.Usagef("-c and the command %s contradict each other", output.Quote(args[0]))
	case s.ShellCommand != "" && s.Lock == "":
		return nil, output.WithHint(locks.Usagef("-c needs --lock"), "add --lock NAME")
	case s.ShellCommand != "":
		shell := os.Getenv("SHELL")
		if shell == "" {
			shell = "/bin/sh"
		}
		return []string{shell, "-c", s.ShellCommand}, nil
	case len(args) == 0 || args[0] == "":
		return nil, output.WithHint(locks.Usagef("no command given"), "leaderrun [OPTIONS] [--] COMMAND [ARG...]")
	}
	if s.Lock == "" {
		return args, s.nameLock(args)
	}
	return args, nil
}

// check refuses what cannot be meant.
func (s *session) check(r *options.Request) error {
	if err := locks.CheckName(s.Lock); err != nil {
		return err
	}
	if s.Wait.Given && s.Wait.D == 0 { // as in flock(1)
		s.Nonblock = true
	}
	if err := s.CheckConnectTimeout(); err != nil {
		return err
	}
	if err := s.checkLife(); err != nil {
		return err
	}
	if err := s.checkHealth(r); err != nil {
		return err
	}
	return s.Timing().CheckTTL()
}

func (s *session) waitLimit() *time.Duration {
	if !s.Wait.Given {
		return nil
	}
	return &s.Wait.D
}

func (s *session) priority() *int {
	if !s.Priority.Given {
		return nil
	}
	return &s.Priority.N
}

// newRunID makes a text that no other run, on any machine, has made.
func newRunID() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }

// explain adds to an error of a run what the user calls the things in it.
func (s *session) explain(err error) error {
	switch {
	case errors.As(err, new(*locks.HeldError)):
	case errors.As(err, new(*runner.SkippedError)):
		return fmt.Errorf("lock %q: %w", s.Lock, err)
	case errors.Is(err, locks.ErrLost):
		return output.Reword(err, "leadership of %q was lost and the job was stopped: %s", s.Lock, output.WithoutClass(err))
	case errors.As(err, new(*runner.ResignError)):
		return output.Reword(err, "leadership of %q was given up: %v", s.Lock, err)
	case errors.As(err, new(*runner.TimeoutError)):
		return output.Reword(err, "the job was stopped: %v", err)
	}
	return output.Explain(s.Lock, err)
}
