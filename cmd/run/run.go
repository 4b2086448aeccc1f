// Package run runs a command under a lock: it turns the values of options into a run of
// package runner, and the run's events into messages, metrics and an exit status.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/program/isolate"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/event"
	"github.com/leaderrun/leaderrun/runner/guard"
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
		Define: func() ([]options.Option, func(*options.Invocation) error) {
			v := options.NewValues()
			return v.Table(), func(r *options.Invocation) error {
				s := &session{env: e, opt: v}
				defer s.end()
				err := s.begin()
				if err == nil {
					err = s.run(r)
				}
				if err != nil && !s.reported {
					s.notRun(err)
				}
				return err
			}
		},
	}
}

// A session is one use of leaderrun run.
type session struct {
	env     *env.Env
	opt     *options.Values
	before  map[int]uint64 // our children from before all that we start; see [guard.Begin]
	guard   *guard.Client  // of the first job; nil: not begun, or in use
	signals *listener      // nil: the signals have their default actions

	reported bool // whatever comes of the run, others report it

	admitted func()        // says that the processes have their threads; nil: they were not begun
	waited   time.Duration // until there was room for them
}

// begin starts the processes that a run needs, before anything else: they take longer to
// start than we take until we need them. A run inside a job may need none, because the
// lock may be ours already.
func (s *session) begin() error {
	s.before = proc.Children()
	if os.Getenv("LEADERRUN_SOCKET") != "" {
		return nil
	}
	tasks, helper := tasksOfRun, ""
	if u, err := locks.Parse(s.opt.Backend); err == nil && !slices.Contains(s.env.Registry.Schemes(), u.Scheme) {
		tasks, helper = tasks+tasksOfHelper, u.Scheme
	}
	if err := s.admit(tasks); err != nil {
		return err
	}
	if helper != "" {
		s.env.Programs.Begin(helper)
	}
	s.guard = guard.Begin(s.before)
	return nil
}

// end ends what was begun and is not in use. It may be called again.
func (s *session) end() {
	s.env.Programs.End()
	if s.admitted != nil {
		s.admitted()
	}
	if s.guard != nil {
		s.guard.Close()
		s.guard = nil
	}
}

// run checks everything that can be checked before a lock is taken, then calls the
// runner.
func (s *session) run(r *options.Invocation) error {
	s.signals = listen()
	if s.opt.ID == "" {
		s.opt.ID = env.NewID()
	}
	if s.opt.Lock == "" && r.Given("lock") { // such as "$UNSET"
		return locks.CheckName(s.opt.Lock)
	}
	args, err := s.command(r.Args)
	if err != nil {
		return err
	}
	if err := s.env.Console.LogTo(s.opt.LogFile); err != nil {
		return err
	}
	logger := s.env.Console.Start(s.opt.Messages())
	if err := s.check(r); err != nil {
		return err
	}
	backend, err := locks.Parse(s.opt.Backend)
	if err != nil {
		return err
	}
	if err := s.opt.CheckTTL(known.Find(backend.Scheme)); err != nil {
		return err
	}
	command := proc.Command{Args: args, Env: os.Environ()}
	if command.Path, err = proc.Find(args[0]); err != nil {
		return misnamed(r.Line, args[0], err)
	}
	nested := s.nest(backend, r, logger)
	if outer, ok := nested.inStore(); ok {
		if ran, err := s.reenter(nested, outer, command, known.Find(backend.Scheme).Secrets()); ran {
			return err
		}
	}
	if r.Setting("backend").Rank == options.Default {
		logger.Info("no backend was chosen; the lock covers this machine only", "backend", "file")
	}
	exit, err := s.runUnderLock(backend, command, nested, logger)
	var outer *runner.OuterError
	switch {
	case errors.As(err, &outer):
		return s.enter(nested, outer, command)
	case err != nil:
		return s.exit(s.explain(err))
	}
	return exitLike(exit)
}

// notRun reports a run that has ended before it campaigned.
func (s *session) notRun(err error) {
	events, unopened := output.OpenEvents(s.opt.Events)
	if unopened != nil {
		return // err is what counts
	}
	events.Event(event.Event{
		Version: event.Version, Time: s.env.Now(), Kind: event.NotRun, Lock: s.opt.Lock, ID: cmp.Or(s.opt.ID, env.NewID()), RunID: newRunID(),
		Class: runner.ClassOf(err), Reason: err.Error(),
	})
	_ = events.Close() // the same
}

// command returns the argument vector to run, and names the lock after it if the lock has
// no name.
func (s *session) command(args []string) ([]string, error) {
	switch {
	case s.opt.ShellCommand != "" && len(args) > 0:
		return nil, locks.Usagef("-c and the command %s contradict each other", output.Quote(args[0]))
	case s.opt.ShellCommand != "" && s.opt.Lock == "":
		return nil, output.WithHint(locks.Usagef("-c needs --lock"), "add --lock NAME")
	case s.opt.ShellCommand != "":
		shell := os.Getenv("SHELL")
		if shell == "" {
			shell = "/bin/sh"
		}
		return []string{shell, "-c", s.opt.ShellCommand}, nil
	case len(args) == 0:
		return nil, output.WithHint(locks.Usagef("no command given"), "leaderrun [OPTIONS] [--] COMMAND [ARG...]")
	}
	if s.opt.Lock != "" {
		return args, nil
	}
	if isDirectory(args[0]) {
		if _, err := proc.Find(args[0]); err != nil {
			return nil, err
		}
	}
	var err error
	s.opt.Lock, err = LockName(args)
	return args, err
}

// isDirectory reports whether a command is empty or, by its spelling, a directory, such as
// ".". It cannot be run. That matters more than that no lock can be named after it.
func isDirectory(command string) bool {
	return slices.Contains([]string{".", "..", string(filepath.Separator)}, filepath.Base(command))
}

// elsewhere maps subcommands of other tools to ours.
var elsewhere = map[string]string{"list": "status", "lock": "run", "unlock": "release"}

// misnamed adds a hint to the error about a command that does not exist, if no "--"
// precedes the command and its name resembles that of a subcommand, or if it is the URL of
// a backend. It removes the password from such a URL.
func misnamed(l *options.Line, name string, err error) error {
	near := cmp.Or(locks.Nearest(name, options.Names(l.Commands)), elsewhere[name])
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

// runUnderLock campaigns for the lock and runs the command under it.
func (s *session) runUnderLock(backend *url.URL, command proc.Command, nested *nest, logger *slog.Logger) (runner.Exit, error) {
	events, err := output.OpenEvents(s.opt.Events)
	if err != nil {
		return runner.Exit{}, err
	}
	defer func() {
		if err := events.Close(); err != nil {
			logger.Warn("not all of --events could be written", "err", err)
		}
	}()

	line, trace := s.env.Console.WaitLine(s.opt.Quiet), &output.Tracer{Log: logger} // before anything else may log
	if s.guard == nil {
		if err := s.admit(tasksOfRun); err != nil {
			return runner.Exit{}, err
		}
		s.guard = guard.Begin(s.before)
	}
	proc.BeInit()
	if s.opt.ScrubEnv {
		isolate.Memory() // the job could read our environment instead of its own
	}
	if err := s.contain(s.guard); err != nil {
		return runner.Exit{}, err
	}
	go func(g *guard.Client) {
		g.Ready()
		s.admitted()
	}(s.guard)
	c, err := s.config(backend, logger)
	if err != nil {
		return runner.Exit{}, err
	}
	metrics, err := s.exporter(logger) // once all options are known to be valid
	if err != nil {
		return runner.Exit{}, err
	}
	defer metrics.close()
	service := newService(s.opt, logger)
	defer service.manager.Close()

	c.Command = command
	c.Command.Env = notify.JobEnvironment(command.Env)
	c.Signals = s.signals.caught
	h := &host{session: s, backend: backend, runID: c.RunID, log: logger, nested: nested, metrics: metrics}
	all := runner.Observers{nested, events, service, s.env.Console, trace, line}
	if metrics != nil {
		all = append(all, metrics)
	}
	s.reported = true
	return runner.Run(context.Background(), h, all, c)
}
