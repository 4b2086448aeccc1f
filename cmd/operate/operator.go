// Package operate has the subcommands of an operator. status, watch, wait, resign, release
// and forget look at locks and hold none. check reports on the lock under which the job
// runs that calls it.
package operate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
)

// Commands returns the subcommands.
func Commands(e *env.Env) []*options.Command {
	return []*options.Command{
		statusCommand(e), watchCommand(e), waitCommand(e), checkCommand(e),
		resignCommand(e), releaseCommand(e), forgetCommand(e),
	}
}

// An operator is one use of such a subcommand.
type operator struct {
	env *env.Env
	opt *options.Values
}

// define returns a subcommand with options of its own and with those that say where a lock
// is and what to print.
func define(e *env.Env, name, usage string, own func(*operator) ([]options.Option, func(*options.Invocation) error)) *options.Command {
	return &options.Command{Name: name, Usage: usage, Define: func() ([]options.Option, func(*options.Invocation) error) {
		p := &operator{e, options.NewValues()}
		all, do := own(p)
		return append(all, p.opt.ToOperate()...), do
	}}
}

// of returns an operator for another lock.
func (p *operator) of(lock string) *operator {
	opt := *p.opt
	opt.Lock = lock
	return &operator{p.env, &opt}
}

// A visit looks at locks through a handle that never acquires.
type visit struct {
	*operator
	*view.Store
	backend *url.URL
	logger  *slog.Logger
}

// visit opens a handle for a subcommand, on the lock that the options name, or on any lock
// if they name none. The backend must have the abilities that the subcommand needs.
func (p *operator) visit(command string, needed ...locks.Ability) (*visit, error) {
	if p.opt.ID == "" {
		p.opt.ID = env.NewID()
	}
	name := p.opt.Lock
	if name == "" {
		name = "leaderrun" // any name is fine
	}
	if err := locks.CheckSlotName(name); err != nil {
		return nil, err
	}
	v := &visit{operator: p}
	var err error
	if v.backend, err = locks.Parse(p.opt.Backend); err != nil {
		return nil, err
	}
	if !p.env.Console.Started() { // the handles of several slots are opened concurrently
		p.env.Console.Start(p.opt.Messages())
	}
	v.logger = p.env.Console.LogWithoutRepeats()
	v.Store = &view.Store{Name: p.opt.Lock, Timeout: p.opt.ConnectTimeout.D, Open: func(ctx context.Context) (locks.Lock, error) {
		return p.env.Registry.Open(ctx, v.backend, v.options(name))
	}}
	ctx, cancel := context.WithTimeout(context.Background(), v.Timeout)
	defer cancel()
	if v.Handle, err = v.Open(ctx); err != nil {
		return nil, unopened(ctx, err)
	}
	if err := locks.Require(ctx, v.Handle, command, needed...); err != nil {
		v.close()
		return nil, unopened(ctx, err)
	}
	return v, nil
}

// options returns the options of a handle that never acquires.
func (v *visit) options(name string) locks.Options {
	return locks.Options{
		Name:           name,
		Holder:         v.opt.ID,
		TTL:            v.opt.TTL.D,
		ConnectTimeout: v.Timeout,
		Version:        v.env.Version,
		Logger:         v.logger,
	}
}

// where says which store is asked.
func (v *visit) where() string {
	ctx, cancel := context.WithTimeout(context.Background(), v.Timeout)
	defer cancel()
	return options.Where(ctx, v.Handle, v.backend)
}

// say prints an answer, and which store has given it.
func (v *visit) say(answer string) error { return v.env.Say("%s\nasked %s", answer, v.where()) }

func (v *visit) close() { _ = v.Handle.Close() } // it holds nothing

// inspect looks at the lock alone.
func (v *visit) inspect(ctx context.Context) (state locks.State, err error) {
	err = v.Request(ctx, func(ctx context.Context) error {
		state, err = v.Handle.(locks.Inspector).Inspect(ctx)
		return err
	})
	return state, err
}

// see opens the locks that the options name: one, or all.
func (p *operator) see(all bool, what string) (*visit, error) {
	if p.opt.Lock != "" {
		return p.visit(what, locks.CanInspect)
	}
	v, err := p.visit(what + " --all")
	if err != nil {
		return nil, view.OfAll(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), v.Timeout)
	defer cancel()
	if err = locks.Require(ctx, v.Handle, what+" --all", locks.CanList); err == nil {
		return v, nil
	}
	v.close()
	err = view.OfAll(unopened(ctx, err))
	if errors.Is(err, locks.ErrUsage) && !all {
		err = output.WithHint(err, "name a lock with --lock")
	}
	return nil, err
}

// needLock returns an error if the options name no lock.
func (p *operator) needLock() error {
	if p.opt.Lock == "" {
		return output.WithHint(locks.Usagef("no lock is named"), "add --lock NAME")
	}
	return nil
}

// style returns the layout of text on standard output.
func (p *operator) style(wide bool) view.Style {
	return view.Style{Color: output.Colors(p.env.Out), Wide: wide, Now: p.env.Now()}
}

// unopened gives an error the class ErrUnavailable if a helper program has not opened a
// lock before ctx ended.
func unopened(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
	}
	return err
}

// holder returns the name of a lock's holder.
func holder(s locks.Status) string {
	if s.Holder == "" {
		return "the holder"
	}
	return locks.Printable(s.Holder)
}

// canAsk reports whether we can ask a user at a terminal.
func canAsk() bool { return output.IsTerminal(os.Stdin) && output.IsTerminal(os.Stderr) }
