package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
)

// resignWait is how long a holder has by default: more than a renewal, with
// which some backends deliver requests, and the usual grace.
const resignWait = time.Minute

// A holder is looked at so often, to see whether it still is one.
const resignLook = 300 * time.Millisecond

func (p *program) resignCommand() *cli.Command {
	o := newOptions()
	var reason string
	return &cli.Command{
		Name:  "resign",
		Usage: "ask the holder of a lock to end its job and release, and wait until it has",
		Flags: operatorFlags(o,
			lockFlag(o, "`NAME` of the lock"),
			&cli.StringFlag{Name: "id", Category: "Which lock", EnvVars: []string{"LEADERRUN_ID"},
				Destination: &o.id,
				Usage:       "`ID` by which the holder sees us (default: host/pid/random)"},
			&cli.GenericFlag{Name: "wait", Aliases: []string{"w"}, Category: "Waiting", EnvVars: []string{"LEADERRUN_WAIT"},
				Value: &o.wait, DefaultText: "1m",
				Usage: "give up after `DURATION`; a bare number is seconds"},
			&cli.StringFlag{Name: "reason", Category: "Running", Destination: &reason,
				Usage: "tell the holder `WHY`"},
		),
		Action: func(ctx *cli.Context) error {
			if err := noArguments(ctx); err != nil {
				return err
			}
			return p.resign(o, reason)
		},
	}
}

// resign asks the holder to resign.
func (p *program) resign(o *options, reason string) error {
	if err := needLock(o); err != nil {
		return err
	}
	if !o.wait.set {
		o.wait.d = resignWait
	}
	r, err := p.resignation(o, reason)
	if err != nil {
		return err
	}
	defer r.close()
	ctx := context.Background()
	said, err := r.demand(ctx)
	if err == nil && said == "" {
		said, err = r.demandSlots(ctx, p)
	}
	if said != "" { // of several slots some may have been given up, and others not
		if _, err := fmt.Fprintln(p.out, said); err != nil {
			return err
		}
	}
	if errors.As(err, new(*output.Exit)) { // the holder stays
		return fmt.Errorf("lock %q: %w", o.lock, err)
	}
	return output.Explain(o.lock, err)
}

// A resignation is one request to resign.
type resignation struct {
	*visit
	reason string
}

func (p *program) resignation(o *options, reason string) (*resignation, error) {
	v, err := p.visit(o, "leaderrun resign", locks.CanInspect, locks.CanAsk)
	if err != nil {
		return nil, err
	}
	return &resignation{v, reason}, nil
}

// demand asks, and says what came of it; nothing if the lock is free. The wait
// begins when the holder was asked: however short it is, a server that is slow to
// answer is not one where nobody resigns.
func (r *resignation) demand(ctx context.Context) (string, error) {
	before, err := r.inspect(ctx)
	switch {
	case err != nil:
		return "", err
	case !before.Held:
		return "", nil
	case before.NoResign:
		return "", fmt.Errorf("%w: %s was started with --no-resign", locks.ErrDenied, holder(before.Status))
	}
	if err := r.ask(ctx, before.Token); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, r.wait.d)
	defer cancel()
	var down error // the last look had no answer
	for {
		select {
		case <-ctx.Done():
			if down != nil {
				return "", down
			}
			return "", &output.Exit{Status: output.ExitHeld, Err: fmt.Errorf("%s has not resigned within %v; it may still do so", holder(before.Status), r.wait.d)}
		case <-time.After(resignLook):
		}
		now, err := r.inspect(ctx)
		switch {
		case ctx.Err() != nil:
			continue
		case errors.Is(err, locks.ErrUnavailable): // it may come back
			down = err
			continue
		case err != nil:
			return "", err
		case !now.Held:
			return fmt.Sprintf("%s resigned; lock %q is free", holder(before.Status), r.lock), nil
		case now.Token != before.Token:
			return fmt.Sprintf("%s resigned; lock %q is held by %s", holder(before.Status), r.lock, holder(now.Status)), nil
		}
		down = nil
	}
}

func (r *resignation) ask(ctx context.Context, token uint64) error {
	bounded, cancel := context.WithTimeout(ctx, r.connectTimeout.d)
	defer cancel()
	err := r.handle.(locks.Asker).Ask(bounded, token, runner.Petition{By: r.id, Reason: r.reason}.Encode())
	return view.Unanswered(ctx, err)
}

func holder(s locks.Status) string {
	if s.Holder == "" {
		return "the holder"
	}
	return locks.Printable(s.Holder)
}
