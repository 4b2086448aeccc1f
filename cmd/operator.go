package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
)

// What the subcommands share that look at locks and hold none: status, watch, wait,
// resign, release and forget.

// operatorFlags are the options of such a subcommand: its own, and those that say
// where a lock is and what to print.
func operatorFlags(o *options, own ...cli.Flag) []cli.Flag {
	shared := append([]cli.Flag{o.backendFlag(), o.connectTimeoutFlag()}, o.messageFlags()...)
	return slices.Concat(own, shared, configFlags())
}

func lockFlag(o *options, usage string) cli.Flag {
	return &cli.StringFlag{Name: "lock", Aliases: []string{"l"}, Category: "Which lock", EnvVars: []string{"LEADERRUN_LOCK"},
		Destination: &o.lock, Usage: usage}
}

// A visit is a handle that never acquires.
type visit struct {
	*options
	handle locks.Lock
	logger *slog.Logger
	open   func(context.Context) (locks.Lock, error)
}

// visit opens one for a subcommand, on the lock that the options name, or on any if
// they name none. The backend must have what the subcommand needs.
func (p *program) visit(o *options, what string, needed ...locks.Ability) (*visit, error) {
	if o.id == "" {
		o.id = newID()
	}
	name := o.lock
	if name == "" {
		name = "leaderrun" // any will do
	}
	if err := locks.CheckSlotName(name); err != nil {
		return nil, err
	}
	backend, err := locks.Parse(o.backend)
	if err != nil {
		return nil, err
	}
	if !p.term.Started() { // those of several slots are opened beside each other
		p.term.Start(o.messages())
	}
	v := &visit{options: o, logger: output.WithoutRepeats(p.term.Log())}
	v.open = func(ctx context.Context) (locks.Lock, error) {
		return p.Registry.Open(ctx, backend, v.asking(p, name))
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.connectTimeout.d)
	defer cancel()
	lock, err := v.open(ctx)
	if err != nil {
		return nil, unopened(ctx, err)
	}
	if err := locks.Require(ctx, lock, what, needed...); err != nil {
		_ = lock.Close() // it holds nothing
		return nil, unopened(ctx, err)
	}
	v.handle = lock
	return v, nil
}

// asking are the options of a handle that never acquires.
func (v *visit) asking(p *program, name string) locks.Options {
	return locks.Options{
		Name:           name,
		Holder:         v.id,
		TTL:            v.ttl.d,
		ConnectTimeout: v.connectTimeout.d,
		Version:        p.Version,
		Logger:         v.logger,
	}
}

func (v *visit) close() { _ = v.handle.Close() } // it holds nothing

// store is what is seen through the handle.
func (v *visit) store() *view.Store {
	return &view.Store{Handle: v.handle, Name: v.lock, Timeout: v.connectTimeout.d, Reopen: v.reopen}
}

// reopen opens another handle in the place of the one that we have.
func (v *visit) reopen(ctx context.Context) (locks.Lock, error) {
	lock, err := v.open(ctx)
	if err == nil {
		v.close()
		v.handle = lock
	}
	return lock, err
}

// inspect looks at the lock by itself.
func (v *visit) inspect(ctx context.Context) (locks.State, error) {
	bounded, cancel := context.WithTimeout(ctx, v.connectTimeout.d)
	defer cancel()
	state, err := v.handle.(locks.Inspector).Inspect(bounded)
	return state, view.Unanswered(ctx, err)
}

// see opens the locks that the options name: one, or all.
func (p *program) see(o *options, all bool, what string) (*visit, error) {
	if !all && o.lock != "" {
		return p.visit(o, what, locks.CanInspect)
	}
	o.lock = ""
	v, err := p.visit(o, what+" --all", locks.CanList)
	err = view.OfAll(err)
	if errors.Is(err, locks.ErrUsage) && !all {
		err = output.WithHint(err, "name a lock with --lock")
	}
	return v, err
}

// needLock refuses a subcommand without a lock.
func needLock(o *options) error {
	if o.lock == "" {
		return output.WithHint(&locks.UsageError{What: "no lock is named"}, "add --lock NAME")
	}
	return nil
}

// style is how standard output is to look.
func (p *program) style(wide bool) view.Style {
	f, _ := p.out.(*os.File)
	colors := false
	if f != nil && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		_, _, colors = output.Screen(f)
	}
	return view.Style{Color: colors, Wide: wide, Now: p.Now()}
}

// unopened classes an error of a helper program that has not opened a lock in time:
// ctx, which bounds that.
func unopened(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
	}
	return err
}
