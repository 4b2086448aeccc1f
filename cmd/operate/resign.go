package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/answers"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
	"github.com/leaderrun/leaderrun/runner"
)

// resignLook is the time between two looks whether the holder still holds the lock.
const resignLook = 300 * time.Millisecond

func resignCommand(e *env.Env) *options.Command {
	return define(e, "resign", "ask the holder to end its job and release the lock, and wait for it", func(p *operator) ([]options.Option, func(*options.Invocation) error) {
		var d demand
		return p.resignOptions(&d), func(*options.Invocation) error { return p.resign("leaderrun resign", d) }
	})
}

// A demand is what an operator wants of a holder.
type demand struct {
	reason string
	noWait bool // do not wait until it has resigned
	token  term // the only term that is meant; 0: whichever there is
}

// A term is the token of a term, as an option.
type term uint64

func (t *term) Set(v string) error {
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n == 0 {
		return fmt.Errorf("invalid token %s (want a number, as in leaderrun status -o json)", output.Quote(v))
	}
	*t = term(n)
	return nil
}

func (t *term) String() string {
	if *t == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*t), 10)
}

// meant returns an error if the demand d is for another term than the present one.
func (v *visit) meant(ctx context.Context, d demand, now locks.Status) error {
	if d.token == 0 || now.Held && !now.Over() && now.Token == uint64(d.token) {
		return nil
	}
	switch err := v.nameSlot(ctx); {
	case err != nil:
		return err
	case now.Held && !now.Over():
		return &output.Exit{Status: output.ExitHeld, Err: fmt.Errorf("the term with token %d is over: %s holds it with token %d, and keeps it", d.token, holder(now), now.Token)}
	}
	return &output.Exit{Status: output.ExitHeld, Err: fmt.Errorf("the term with token %d is over: nobody holds it", d.token)}
}

// resignOptions returns the options of a subcommand that asks a holder to resign.
func (p *operator) resignOptions(d *demand) []options.Option {
	wait := p.opt.As("wait", "wait up to `DURATION` for the holder to resign; a bare number is seconds")
	wait.Default = "1m" // longer than a renewal, with which some backends deliver requests, plus the usual grace
	return []options.Option{
		p.opt.As("lock", "`NAME` of the lock"),
		p.opt.As("id", "`ID` shown to the holder (default: host/pid/random)"),
		wait,
		{Name: "no-wait", Group: "Waiting", Value: &d.noWait, From: options.Arguments, Usage: "ask, and do not wait for the holder to resign"},
		{Name: "if-token", Group: "Which lock", Value: &d.token, From: options.Arguments, Usage: "do it only if the token of the present term is `N`, else exit with 75: another may have the lock by now"},
		{Name: "reason", Group: "Lease and stopping", Value: &d.reason, From: options.Arguments, Usage: "show `WHY` to the holder as the reason"},
	}
}

// resign asks the holder to resign. Errors name the given subcommand.
func (p *operator) resign(command string, d demand) error {
	if err := p.needLock(); err != nil {
		return err
	}
	r, err := p.resignation(command, d)
	if err != nil {
		return err
	}
	defer r.close()
	ctx := context.Background()
	said, err := r.askAll(ctx)
	if said != "" { // some of the slots may have been released, and others not
		if err := r.say(said); err != nil {
			return err
		}
	}
	return p.explain(err)
}

func (p *operator) explain(err error) error {
	if errors.As(err, new(*output.Exit)) { // the holder has not resigned
		return fmt.Errorf("lock %q: %w", p.opt.Lock, err)
	}
	return output.Explain(p.opt.Lock, err)
}

// A resignation is one request to resign.
type resignation struct {
	*visit
	command string
	demand  demand
	before  locks.Status // when we asked
}

func (p *operator) resignation(command string, d demand) (*resignation, error) {
	v, err := p.visit(command, locks.CanInspect, locks.CanAsk)
	if err != nil {
		return nil, err
	}
	return &resignation{visit: v, command: command, demand: d}, nil
}

// ask asks the holder and returns a line about the outcome, or "" if nobody holds the lock.
// The wait begins when the holder has been asked, so that a slow server does not look like
// a holder that does not resign.
func (r *resignation) ask(ctx context.Context) (string, error) {
	before, err := r.inspect(ctx)
	r.before = before.Status
	heard := answers.New(nil, r.opt.TTL.D, r.Timeout)
	heard.Held(before.Status)
	if err == nil {
		err = r.meant(ctx, r.demand, before.Status)
	}
	switch {
	case err != nil:
		return "", err
	case !before.Held, before.Over():
		return "", nil
	case before.NoResign:
		return "", fmt.Errorf("%w: %s was started with --no-resign", locks.ErrDenied, holder(before.Status))
	}
	last, err := r.farewell(ctx, before.Status)
	if err != nil {
		return "", err
	}
	err = r.Request(ctx, func(ctx context.Context) error {
		return r.Handle.(locks.Asker).Ask(ctx, before.Token, runner.Request{By: r.opt.ID, Reason: r.demand.reason}.Encode())
	})
	if err != nil {
		return "", err
	}
	if r.demand.noWait {
		if before.Left < 0 {
			return fmt.Sprintf("%s was asked to resign, if it still runs (%s)", holder(before.Status), view.Ended(before.Status)), nil
		}
		return fmt.Sprintf("%s was asked to resign", holder(before.Status)), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wait := r.opt.Wait.D
	over := time.AfterFunc(wait, cancel)
	defer over.Stop()
	told := false // that the job is stopping
	down := false // the last look had no answer
	seen := before.Status
	for {
		select {
		case <-ctx.Done():
			if err := heard.Verdict(errSilent); down && !errors.Is(err, locks.ErrHeld) {
				return "", err
			}
			if left := last.left(); left > 0 {
				return "", &output.Exit{Status: output.ExitHeld, Err: fmt.Errorf("%s has lost the lock, and its job may run for up to %v more", holder(before.Status), (left + time.Second).Truncate(time.Second))}
			}
			if seen.Left < 0 {
				return "", &output.Exit{Status: output.ExitHeld, Err: fmt.Errorf("%s has not resigned within %v; %s", holder(before.Status), wait, view.Ended(seen))}
			}
			return "", &output.Exit{Status: output.ExitHeld, Err: fmt.Errorf("%s has not resigned within %v; it may still do so", holder(before.Status), wait)}
		case <-time.After(resignLook):
		}
		now, err := r.inspect(ctx)
		gone := err == nil && (!now.Held || now.Token != before.Token)
		if gone {
			gone, err = last.over(ctx, r)
		}
		switch {
		case err != nil && ctx.Err() != nil, errors.Is(err, locks.ErrUnavailable): // the backend may recover
			down = true
			heard.Failed(err, ctx.Err() != nil)
			continue
		case err != nil:
			return "", err
		case gone && !now.Held:
			return fmt.Sprintf("%s %v; lock %q is free", holder(before.Status), &last, r.opt.Lock), nil
		case now.Over():
			return nobody(r.opt.Lock, now.Status), nil
		case gone:
			return fmt.Sprintf("%s %v; lock %q is held by %s", holder(before.Status), &last, r.opt.Lock, holder(now.Status)), nil
		}
		down, seen = false, now.Status
		heard.Held(seen)
		if told {
			continue
		}
		if s := r.stopping(ctx, now.Status); s != nil {
			told = true
			kill := time.Unix(s.Kill, 0)
			if err := r.env.Say("%s is stopping since %s; its job is killed at %s at the latest", holder(before.Status), time.Unix(s.Since, 0).Format(time.TimeOnly), kill.Format(time.TimeOnly)); err != nil {
				return "", err
			}
			if left := min(time.Until(kill), time.Duration(s.Kill-s.Since)*time.Second) + slack; !r.opt.Wait.Given && left > wait && over.Reset(left) {
				wait = left.Round(time.Second)
			}
		}
	}
}

// slack is how much longer than its job may take we wait for a holder: its last renewal, its hooks
// and the release.
const slack = 30 * time.Second

// stopping returns what the holder says about its stop, or nil if it has said nothing.
func (r *resignation) stopping(ctx context.Context, now locks.Status) *ledger.Stopping {
	record, err := r.record(ctx)
	if record == nil || err != nil { // whoever may not read it is not told
		return nil
	}
	return view.StoppingOf(record, now)
}

// record returns the lock's record, or nil if there is none that we may and can read.
func (r *resignation) record(ctx context.Context) (record *ledger.Record, err error) {
	if !r.Can(ctx, locks.CanRecord) {
		return nil, nil
	}
	err = r.Request(ctx, func(ctx context.Context) error {
		text, err := r.Handle.(locks.Recorder).Record(ctx)
		if err != nil {
			return err
		}
		record, err = ledger.Read(text)
		return err
	})
	if errors.Is(err, locks.ErrUnavailable) {
		return nil, err
	}
	return record, nil
}
