package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

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
	shared := []string{"backend", "id", "connect-timeout", "verbose", "quiet", "log-format"}
	flags := slices.DeleteFunc(o.flags(), func(f cli.Flag) bool { return !slices.Contains(shared, f.Names()[0]) })
	return &cli.Command{
		Name:  "resign",
		Usage: "ask the holder of a lock to end its job and release, and wait until it has",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "lock", Aliases: []string{"l"}, Category: "Which lock", EnvVars: []string{"LEADERRUN_LOCK"},
				Destination: &o.lock,
				Usage:       "`NAME` of the lock"},
			&cli.GenericFlag{Name: "wait", Aliases: []string{"w"}, Category: "Waiting", EnvVars: []string{"LEADERRUN_WAIT"},
				Value: &o.wait, DefaultText: "1m",
				Usage: "give up after `DURATION`; a bare number is seconds"},
			&cli.StringFlag{Name: "reason", Category: "Running", Destination: &reason,
				Usage: "tell the holder `WHY`"},
		}, append(flags, configFlags()...)...),
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
	p.held = o.conflict.n
	if o.id == "" {
		o.id = newID()
	}
	if o.lock == "" {
		return &hinted{&locks.UsageError{What: "no lock is named"}, "add --lock NAME"}
	}
	if err := locks.CheckSlotName(o.lock); err != nil {
		return err
	}
	backend, err := locks.Parse(o.backend)
	if err != nil {
		return err
	}
	if !o.wait.set {
		o.wait.d = resignWait
	}
	r := &resignation{options: o, reason: reason, logger: p.term.logger(o)}
	if err := r.open(p, backend); err != nil {
		return err
	}
	defer func() { _ = r.handle.Close() }() // it holds nothing
	ctx := context.Background()
	said, err := r.demand(ctx)
	if err == nil && said == "" {
		said, err = r.demandSlots(ctx, p, backend)
	}
	if said != "" { // of several slots some may have been given up, and others not
		if _, err := fmt.Fprintln(p.out, said); err != nil {
			return err
		}
	}
	if err != nil {
		return p.explain(o, err)
	}
	return nil
}

// A staysError says that the holder was asked to resign and has not, in time.
type staysError struct {
	wait time.Duration
	held locks.HeldError
}

func (e *staysError) Error() string {
	return fmt.Sprintf("%s has not resigned within %v; it may still do so", holder(e.held.Status), e.wait)
}
func (e *staysError) Unwrap() error { return &e.held }

// A resignation is one request to resign.
type resignation struct {
	*options
	reason string
	logger *slog.Logger
	handle locks.Lock
}

func (r *resignation) open(p *program, backend *url.URL) error {
	ctx, cancel := context.WithTimeout(context.Background(), r.connectTimeout.d)
	defer cancel()
	lock, err := p.Registry.Open(ctx, backend, r.asking(p))
	if err != nil {
		return unanswered(ctx, err)
	}
	if err := locks.Require(ctx, lock, "leaderrun resign", locks.CanInspect, locks.CanAsk); err != nil {
		_ = lock.Close() // it holds nothing
		return unanswered(ctx, err)
	}
	r.handle = lock
	return nil
}

// unanswered classes an error of a helper program that did not answer in time.
func unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
	}
	return err
}

// asking are the options of a handle that never acquires.
func (r *resignation) asking(p *program) locks.Options {
	return locks.Options{
		Name:           r.lock,
		Holder:         r.id,
		TTL:            r.ttl.d,
		ConnectTimeout: r.connectTimeout.d,
		Version:        p.Version,
		Logger:         r.logger,
	}
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
			return "", &staysError{r.wait.d, locks.HeldError{Status: before.Status}}
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
	ctx, cancel := context.WithTimeout(ctx, r.connectTimeout.d)
	defer cancel()
	return r.handle.(locks.Asker).Ask(ctx, token, runner.Petition{By: r.id, Reason: r.reason}.Encode())
}

func (r *resignation) inspect(ctx context.Context) (locks.State, error) {
	ctx, cancel := context.WithTimeout(ctx, r.connectTimeout.d)
	defer cancel()
	return r.handle.(locks.Inspector).Inspect(ctx)
}

func holder(s locks.Status) string {
	if s.Holder == "" {
		return "the holder"
	}
	return locks.Printable(s.Holder)
}
