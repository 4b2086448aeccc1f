package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
)

// resignLook is the time between two looks whether the holder still holds the lock.
const resignLook = 300 * time.Millisecond

func resignCommand(e *env.Env) *options.Command {
	return define(e, "resign", "ask the holder to end its job and release the lock, and wait for it", func(p *operator) ([]options.Option, func(*options.Request) error) {
		var reason string
		return p.resignOptions(&reason), func(*options.Request) error { return p.resign("leaderrun resign", reason) }
	})
}

// resignOptions returns the options of a subcommand that asks a holder to resign.
func (p *operator) resignOptions(reason *string) []options.Option {
	wait := p.opt.As("wait", "wait up to `DURATION` for the holder to resign; a bare number is seconds")
	wait.Default = "1m" // longer than a renewal, with which some backends deliver requests, plus the usual grace
	return []options.Option{
		p.opt.As("lock", "`NAME` of the lock"),
		p.opt.As("id", "`ID` shown to the holder (default: host/pid/random)"),
		wait,
		{Name: "reason", Group: "Lease and stopping", Value: reason, From: options.Arguments, Usage: "show `WHY` to the holder as the reason"},
	}
}

// resign asks the holder to resign. Errors name the given subcommand.
func (p *operator) resign(command, reason string) error {
	if err := p.needLock(); err != nil {
		return err
	}
	r, err := p.resignation(command, reason)
	if err != nil {
		return err
	}
	defer r.close()
	ctx := context.Background()
	said, err := r.demand(ctx)
	if err == nil && said == "" {
		said, err = r.demandSlots(ctx)
	}
	if said != "" { // some of the slots may have been released, and others not
		if err := p.env.Say("%s", said); err != nil {
			return err
		}
	}
	if errors.As(err, new(*output.Exit)) { // the holder has not resigned
		return fmt.Errorf("lock %q: %w", p.opt.Lock, err)
	}
	return output.Explain(p.opt.Lock, err)
}

// A resignation is one request to resign.
type resignation struct {
	*visit
	command, reason string
}

func (p *operator) resignation(command, reason string) (*resignation, error) {
	v, err := p.visit(command, locks.CanInspect, locks.CanAsk)
	if err != nil {
		return nil, err
	}
	return &resignation{v, command, reason}, nil
}

// demand asks the holder and returns a line about the outcome, or "" if the lock is free.
// The wait begins when the holder has been asked, so that a slow server does not look like
// a holder that does not resign.
func (r *resignation) demand(ctx context.Context) (string, error) {
	before, err := r.inspect(ctx)
	switch {
	case err != nil:
		return "", err
	case !before.Held, before.Over():
		return "", nil
	case before.NoResign:
		return "", fmt.Errorf("%w: %s was started with --no-resign", locks.ErrDenied, holder(before.Status))
	}
	err = r.Request(ctx, func(ctx context.Context) error {
		return r.Handle.(locks.Asker).Ask(ctx, before.Token, runner.Request{By: r.opt.ID, Reason: r.reason}.Encode())
	})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, r.opt.Wait.D)
	defer cancel()
	var down error // nil if the last look had an answer
	for {
		select {
		case <-ctx.Done():
			if down != nil {
				return "", down
			}
			return "", &output.Exit{Status: output.ExitHeld, Err: fmt.Errorf("%s has not resigned within %v; it may still do so", holder(before.Status), r.opt.Wait.D)}
		case <-time.After(resignLook):
		}
		now, err := r.inspect(ctx)
		switch {
		case ctx.Err() != nil:
			continue
		case errors.Is(err, locks.ErrUnavailable): // the backend may recover
			down = err
			continue
		case err != nil:
			return "", err
		case !now.Held:
			return fmt.Sprintf("%s resigned; lock %q is free", holder(before.Status), r.opt.Lock), nil
		case now.Over():
			return fmt.Sprintf("the lease of %s has ended; lock %q is free", holder(now.Status), r.opt.Lock), nil
		case now.Token != before.Token:
			return fmt.Sprintf("%s resigned; lock %q is held by %s", holder(before.Status), r.opt.Lock, holder(now.Status)), nil
		}
		down = nil
	}
}
