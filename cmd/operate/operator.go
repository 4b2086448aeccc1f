// Package operate is what an operator does with locks: status, watch, wait, resign,
// release and forget look at locks and hold none, and check asks about the one
// that the job runs under.
package operate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
)

// Commands are the subcommands.
func Commands(e *env.Env) []*options.Command {
	return []*options.Command{
		statusCommand(e), watchCommand(e), waitCommand(e), checkCommand(e),
		resignCommand(e), releaseCommand(e), forgetCommand(e),
	}
}

// An operator is one use of such a subcommand.
type operator struct {
	*env.Env
	*options.Values
}

// define makes a subcommand with options of its own, and with those that say where a
// lock is and what to print.
func define(e *env.Env, name, usage string, own func(*operator) ([]options.Option, func(*options.Request) error)) *options.Command {
	return &options.Command{Name: name, Usage: usage, Define: func() ([]options.Option, func(*options.Request) error) {
		p := &operator{e, options.NewValues()}
		all, do := own(p)
		return append(all, p.ToOperate()...), do
	}}
}

// of returns an operator for another lock.
func (p *operator) of(lock string) *operator {
	v := *p.Values
	v.Lock = lock
	return &operator{p.Env, &v}
}

// A visit is a handle that never acquires.
type visit struct {
	*operator
	handle locks.Lock
	logger *slog.Logger
	open   func(context.Context) (locks.Lock, error)
}

// visit opens one for a subcommand, on the lock that the options name, or on any if
// they name none. The backend must have what the subcommand needs.
func (p *operator) visit(what string, needed ...locks.Ability) (*visit, error) {
	if p.ID == "" {
		p.ID = env.NewID()
	}
	name := p.Lock
	if name == "" {
		name = "leaderrun" // any will do
	}
	if err := locks.CheckSlotName(name); err != nil {
		return nil, err
	}
	backend, err := locks.Parse(p.Backend)
	if err != nil {
		return nil, err
	}
	if !p.Console.Started() { // those of several slots are opened beside each other
		p.Console.Start(p.Messages())
	}
	v := &visit{operator: p, logger: p.Console.LogWithoutRepeats()}
	v.open = func(ctx context.Context) (locks.Lock, error) {
		return p.Registry.Open(ctx, backend, v.asking(name))
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.ConnectTimeout.D)
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
func (v *visit) asking(name string) locks.Options {
	return locks.Options{
		Name:           name,
		Holder:         v.ID,
		TTL:            v.TTL.D,
		ConnectTimeout: v.ConnectTimeout.D,
		Version:        v.Version,
		Logger:         v.logger,
	}
}

func (v *visit) close() { _ = v.handle.Close() } // it holds nothing

// store is what is seen through the handle.
func (v *visit) store() *view.Store {
	return &view.Store{Handle: v.handle, Name: v.Lock, Timeout: v.ConnectTimeout.D, Reopen: v.reopen}
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

// bounded makes one request, within --connect-timeout.
func (v *visit) bounded(ctx context.Context, request func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, v.ConnectTimeout.D)
	defer cancel()
	return view.Unanswered(ctx, request(bounded))
}

// inspect looks at the lock by itself.
func (v *visit) inspect(ctx context.Context) (state locks.State, err error) {
	err = v.bounded(ctx, func(ctx context.Context) error {
		state, err = v.handle.(locks.Inspector).Inspect(ctx)
		return err
	})
	return state, err
}

// see opens the locks that the options name: one, or all.
func (p *operator) see(all bool, what string) (*visit, error) {
	if !all && p.Lock != "" {
		return p.visit(what, locks.CanInspect)
	}
	p.Lock = ""
	v, err := p.visit(what+" --all", locks.CanList)
	err = view.OfAll(err)
	if errors.Is(err, locks.ErrUsage) && !all {
		err = output.WithHint(err, "name a lock with --lock")
	}
	return v, err
}

// needLock refuses a subcommand without a lock.
func (p *operator) needLock() error {
	if p.Lock == "" {
		return output.WithHint(locks.Usagef("no lock is named"), "add --lock NAME")
	}
	return nil
}

// style is how standard output is to look.
func (p *operator) style(wide bool) view.Style {
	return view.Style{Color: output.Colors(p.Out), Wide: wide, Now: p.Now()}
}

// unopened classes an error of a helper program that has not opened a lock in time:
// ctx, which bounds that.
func unopened(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
	}
	return err
}

// holder names whoever holds a lock.
func holder(s locks.Status) string {
	if s.Holder == "" {
		return "the holder"
	}
	return locks.Printable(s.Holder)
}

// canAsk reports whether there is somebody at a terminal.
func canAsk() bool {
	_, _, in := output.Screen(os.Stdin)
	_, _, out := output.Screen(os.Stderr)
	return in && out
}
