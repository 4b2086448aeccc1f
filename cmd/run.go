package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/locks/recipe/slots"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/notify"
	"github.com/leaderrun/leaderrun/runner/proc"
)

func (p *program) runCommand() *cli.Command {
	o := newOptions()
	return &cli.Command{
		Name:      "run",
		Usage:     "run a command while holding a lock (the default)",
		ArgsUsage: "[--] COMMAND [ARG...]",
		Flags:     append(o.flags(), configFlags()...),
		Action: func(ctx *cli.Context) error {
			p.settle(o, ctx.Args().Present())
			return p.run(o, ctx.Args().Slice())
		},
	}
}

// run checks everything that can be checked before a lock is taken, then hands
// over to the runner.
func (p *program) run(o *options, args []string) error {
	signals := listen()
	if o.id == "" {
		o.id = newID()
	}
	if o.lock == "" && p.isGiven("lock") { // such as "$UNSET"
		return locks.CheckName(o.lock)
	}
	args, err := o.command(args)
	if err != nil {
		return err
	}
	if err := p.term.LogTo(o.logFile); err != nil {
		return err
	}
	logger := p.term.Start(o.messages())
	if err := o.check(); err != nil {
		return err
	}
	backend, err := locks.Parse(o.backend)
	if err != nil {
		return err
	}
	command := proc.Command{Args: args, Env: os.Environ()}
	if command.Path, err = proc.Find(args[0]); err != nil {
		return p.misnamed(args[0], err)
	}
	nested := nestOf(o, backend)
	if outer, ok := nested.inStore(); ok {
		if again, err := p.reenter(nested, outer, command); again {
			return err
		}
	}
	exit, err := p.supervise(o, backend, command, nested, signals, logger)
	var outer *runner.OuterError
	switch {
	case errors.As(err, &outer):
		return p.enter(nested, outer, command)
	case err != nil:
		return o.exit(o.explain(err))
	}
	return exitWith(exit.Status())
}

// exitWith returns the error that has an exit status and says nothing.
func exitWith(status int) error {
	if status == 0 {
		return nil
	}
	return &output.Exit{Status: status}
}

// exit gives an error the exit status that the user may choose: that of a lock that
// is held, or of a window that needs no run.
func (o *options) exit(err error) error {
	switch {
	case errors.As(err, new(*runner.SkippedError)) && o.conflict.set:
		return &output.Exit{Status: o.conflict.n, Err: err, Quiet: true}
	case errors.As(err, new(*runner.SkippedError)):
		return &output.Exit{Err: err, Quiet: true}
	case output.Status(err) == output.ExitHeld:
		return &output.Exit{Status: o.conflict.n, Err: err, Quiet: true}
	}
	return err
}

// supervise campaigns for the lock and runs the command under it.
func (p *program) supervise(o *options, backend *url.URL, command proc.Command, nested *nest, signals *listener, logger *slog.Logger) (proc.Exit, error) {
	if o.verbose > 0 || o.traceRenewals || o.logFile != "" || o.events != "" {
		<-signals.ready // what we write to may be a pipe that nobody reads any more
	}
	events, err := output.OpenEvents(o.events)
	if err != nil {
		return proc.Exit{}, err
	}
	defer events.Close()

	line, trace := p.term.WaitLine(o.quiet), p.term.Tracer(o.traceRenewals, o.messages()) // before anybody else may log
	if p.starter == nil {
		p.starter = newStarter()
	}
	proc.BeInit()
	if err := contain(p.starter, o); err != nil {
		return proc.Exit{}, err
	}
	once, err := o.once(p.Now())
	if err != nil {
		return proc.Exit{}, err
	}
	hooks, health, err := p.commandsOf(o)
	if err != nil {
		return proc.Exit{}, err
	}
	metrics, err := p.exporter(o, logger) // when nothing is wrong with the options
	if err != nil {
		return proc.Exit{}, err
	}
	defer metrics.close()
	service := newService(o, logger)
	defer service.manager.Close()
	command.Env = notify.JobEnvironment(command.Env, o.notifyJob)

	runID := newRunID()
	return runner.Run(context.Background(), runner.Config{
		Command: command,
		Lock:    o.lock,
		Backend: locks.Redact(backend),
		Store:   store(backend, os.Environ()),
		Holder:  o.id,
		RunID:   runID,
		Open: func(ctx context.Context, waiting func(locks.Waiting)) (locks.Lock, error) {
			lock, err := p.open(ctx, backend, o.slots, locks.Options{
				Name:           o.lock,
				Holder:         o.id,
				TTL:            o.ttl.d,
				ConnectTimeout: o.connectTimeout.d,
				Version:        p.Version,
				RunID:          runID,
				Priority:       o.priority.n,
				NoResign:       o.noResign,
				Logger:         logger,
				Waiting:        waiting,
			})
			if err == nil && !locks.IsPermanent(lock) { // a death without a release would cost a TTL
				<-signals.ready
			}
			return lock, err
		},
		Try:            o.nonblock,
		Wait:           o.waitLimit(),
		ConnectTimeout: o.connectTimeout.d,
		Timing:         o.timing(),
		Signal:         o.signal.Signal,
		StopOnFailure:  o.onRenewError.value == "stop",
		ScrubEnv:       o.scrubEnv,
		WaitChildren:   o.waitChildren,
		Splay:          o.splayed(),
		MinHold:        o.minHold.d,
		MaxRuntime:     o.maxRuntime.d,
		Restart:        o.restarts(),
		Rejoin:         o.rejoin,
		Hooks:          hooks,
		Health:         health,
		NoResign:       o.noResign,
		Once:           once,
		Strict:         o.takeover.value == "strict",
		Priority:       o.priority.value(),
		Signals:        signals.caught,
		Starter:        p.starters(o),
		Logger:         logger,
		Events: func(e runner.Event) {
			events.Write(e)
			service.event(e)
			p.term.Event(e)
			trace.Event(e)
			metrics.event(e)
			if e.Kind == runner.EventRejoining {
				line.Again()
			}
		},
		Renewed: func(r keepalive.Renewal) {
			trace.Renewed(r)
			metrics.renewed(r)
		},
		Alive: metrics.alive(service.alive()),
		Keep:  metrics.is,
		Waiting: func(w locks.Waiting) {
			signals.rest()
			metrics.waiting(w)
			line.Show(w)
		},
		Decided: func() {
			signals.rest()
			<-signals.ready
			line.Wipe()
		},
		Outer:    nested.holds(),
		Terminal: signals.terminal,
	})
}

// open makes a handle on the lock, or on one of its slots.
func (p *program) open(ctx context.Context, backend *url.URL, n slotCount, o locks.Options) (locks.Lock, error) {
	open := func(ctx context.Context, o locks.Options) (locks.Lock, error) {
		return p.Registry.Open(ctx, backend, o)
	}
	if !n.set {
		return open(ctx, o)
	}
	lock, err := slots.Open(ctx, n.n, open, o)
	if err != nil {
		return nil, err // and not a nil *slots.Lock in an interface
	}
	return lock, nil
}

// command returns what to run, as an argument vector, and names the lock after
// it if it has no name.
func (o *options) command(args []string) ([]string, error) {
	switch {
	case o.shellCommand != "" && len(args) > 0:
		return nil, &locks.UsageError{What: "both -c and the command " + output.Quote(args[0]) + " are given"}
	case o.shellCommand != "" && o.lock == "":
		return nil, output.WithHint(&locks.UsageError{What: "-c needs a lock's name"}, "add --lock NAME")
	case o.shellCommand != "":
		shell := os.Getenv("SHELL")
		if shell == "" {
			shell = "/bin/sh"
		}
		return []string{shell, "-c", o.shellCommand}, nil
	case len(args) == 0 || args[0] == "":
		return nil, output.WithHint(&locks.UsageError{What: "no command is given"}, "leaderrun [OPTIONS] [--] COMMAND [ARG...]")
	}
	if o.lock == "" {
		o.lock = filepath.Base(args[0])
		if err := locks.CheckName(o.lock); err != nil {
			return nil, output.WithHint(err, "name the lock with --lock NAME")
		}
	}
	return args, nil
}

// check refuses what cannot be meant.
func (o *options) check() error {
	if err := locks.CheckName(o.lock); err != nil {
		return err
	}
	if o.nonblock && o.wait.set {
		return &locks.UsageError{What: "-n and -w contradict each other"}
	}
	if o.wait.set && o.wait.d == 0 { // as in flock(1)
		o.nonblock = true
	}
	if err := o.checkConnectTimeout(); err != nil {
		return err
	}
	if err := o.checkLife(); err != nil {
		return err
	}
	return o.timing().CheckTTL()
}

func (o *options) checkConnectTimeout() error {
	if o.connectTimeout.d <= 0 || o.connectTimeout.d > time.Hour {
		return &locks.UsageError{What: fmt.Sprintf("--connect-timeout %v is out of range: more than 0, at most 1h", o.connectTimeout.d)}
	}
	return nil
}

func (o *options) waitLimit() *time.Duration {
	if !o.wait.set {
		return nil
	}
	return &o.wait.d
}

// newID makes an id that no other run has: host/pid/random.
func newID() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%08x", host, os.Getpid(), rand.Uint32())
}

// newRunID makes a text that no other run, on any machine, has made.
func newRunID() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }

// explain adds to an error of a run what the user calls the things in it.
func (o *options) explain(err error) error {
	reworded := func(format string, args ...any) error {
		return &output.Reworded{Err: err, Text: fmt.Sprintf(format, args...)}
	}
	switch {
	case errors.As(err, new(*locks.HeldError)):
	case errors.As(err, new(*runner.SkippedError)):
		return fmt.Errorf("lock %q: %w", o.lock, err)
	case errors.Is(err, locks.ErrLost):
		return reworded("leadership of %q was lost and the job was stopped: %s", o.lock, output.WithoutClass(err))
	case errors.As(err, new(*runner.ResignError)):
		return reworded("leadership of %q was given up: %v", o.lock, err)
	case errors.As(err, new(*runner.TimeoutError)):
		return reworded("the job was stopped: %v", err)
	}
	return output.Explain(o.lock, err)
}
