package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

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
	p.held = o.conflict.n
	if o.conflict.set {
		p.skipped = o.conflict.n
	}
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
	if err := p.term.logTo(o.logFile); err != nil {
		return err
	}
	logger := p.term.logger(o)
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
		return p.explain(o, err)
	}
	p.exit = exit.Status()
	return nil
}

// supervise campaigns for the lock and runs the command under it.
func (p *program) supervise(o *options, backend *url.URL, command proc.Command, nested *nest, signals *listener, logger *slog.Logger) (proc.Exit, error) {
	if o.verbose > 0 || o.traceRenewals || o.logFile != "" || o.events != "" {
		<-signals.ready // what we write to may be a pipe that nobody reads any more
	}
	events, err := openEvents(o.events)
	if err != nil {
		return proc.Exit{}, err
	}
	defer events.close()

	line, trace := p.term.waitLine(o), p.term.tracer(o) // before anybody else may log
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
			events.write(e)
			service.event(e)
			p.term.term.event(e)
			trace.event(e)
			metrics.event(e)
			if e.Kind == runner.EventRejoining {
				line.again()
			}
		},
		Renewed: func(r keepalive.Renewal) {
			trace.renewed(r)
			metrics.renewed(r)
		},
		Alive: metrics.alive(service.alive()),
		Keep:  metrics.is,
		Waiting: func(w locks.Waiting) {
			signals.rest()
			metrics.waiting(w)
			line.show(w)
		},
		Decided: func() {
			signals.rest()
			<-signals.ready
			line.wipe()
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
		return nil, &locks.UsageError{What: "both -c and the command " + quote(args[0]) + " are given"}
	case o.shellCommand != "" && o.lock == "":
		return nil, &hinted{&locks.UsageError{What: "-c needs a lock's name"}, "add --lock NAME"}
	case o.shellCommand != "":
		shell := os.Getenv("SHELL")
		if shell == "" {
			shell = "/bin/sh"
		}
		return []string{shell, "-c", o.shellCommand}, nil
	case len(args) == 0 || args[0] == "":
		return nil, &hinted{&locks.UsageError{What: "no command is given"}, "leaderrun [OPTIONS] [--] COMMAND [ARG...]"}
	}
	if o.lock == "" {
		o.lock = filepath.Base(args[0])
		if err := locks.CheckName(o.lock); err != nil {
			return nil, &hinted{err, "name the lock with --lock NAME"}
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

// A reworded error is one with another text.
type reworded struct {
	error
	text string
}

func (r *reworded) Error() string { return r.text }
func (r *reworded) Unwrap() error { return r.error }

// withoutClass is the text of an error without the class that it may begin
// with, where the class goes without saying.
func withoutClass(err error) string {
	text := err.Error()
	for _, class := range []error{locks.ErrLost, locks.ErrUnavailable} {
		text = strings.TrimPrefix(text, class.Error()+": ")
	}
	return text
}

// explain adds to an error of a run what the user calls the things in it.
func (p *program) explain(o *options, err error) error {
	var held *locks.HeldError
	switch {
	case errors.As(err, new(*staysError)), errors.As(err, new(*changedError)):
		return fmt.Errorf("lock %q: %w", o.lock, err)
	case errors.As(err, &held):
		return fmt.Errorf("lock %q: %w", o.lock, held)
	case errors.As(err, new(*runner.SkippedError)):
		return fmt.Errorf("lock %q: %w", o.lock, err)
	case isClass(err, locks.ErrLost):
		return &reworded{err, fmt.Sprintf("leadership of %q was lost and the job was stopped: %s", o.lock, withoutClass(err))}
	case errors.As(err, new(*runner.ResignError)):
		return &reworded{err, fmt.Sprintf("leadership of %q was given up: %v", o.lock, err)}
	case errors.As(err, new(*runner.TimeoutError)):
		return &reworded{err, fmt.Sprintf("the job was stopped: %v", err)}
	case isClass(err, locks.ErrUnavailable) && !errors.As(err, new(*locks.Error)):
		return &hinted{&reworded{err, fmt.Sprintf("lock %q: %s", o.lock, withoutClass(err))},
			"something there may accept connections and not answer, or take longer than -w or --connect-timeout allow"}
	case errors.As(err, new(*proc.StartError)):
	case isClass(err, fs.ErrPermission) && !isClass(err, locks.ErrUsage, locks.ErrDenied):
		return fmt.Errorf("%w: %w", locks.ErrDenied, err)
	}
	return err
}
