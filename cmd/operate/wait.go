package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/answers"
	"github.com/leaderrun/leaderrun/runner"
)

func waitCommand(e *env.Env) *options.Command {
	return define(e, "wait", "wait until a lock is free, held, or changes, without taking it", func(p *operator) ([]options.Option, func(*options.Invocation) error) {
		var until options.Choice
		var interval options.Duration
		return []options.Option{
			p.opt.As("lock", "`NAME` of the lock"),
			{Name: "for", Group: "Waiting", Value: until.Of("free", "held", "change"), From: options.Arguments,
				Usage: "wait until the lock is `WHAT`: free, held, or change (its holder or state differs from now)"},
			p.opt.As("wait", "wait at most `DURATION`, then exit with 75; a bare number is seconds (default: no limit)"),
			p.opt.As("conflict-exit-code", "exit with `N` if the wait timed out"),
			intervalOption(&interval, "1s"),
		}, func(*options.Invocation) error { return p.await(until.Value, interval.D) }
	})
}

// timedOut returns the error of a wait that timed out, with the last known state.
func (v *visit) timedOut(last []view.Lock) error {
	p := v.operator
	err := fmt.Errorf("lock %q: timed out: still %s, in %s", p.opt.Lock, described(last), v.where())
	return &output.Exit{Status: p.opt.Conflict.N, Err: err, Quiet: true}
}

// described says who holds a lock or one of its slots.
func described(now []view.Lock) string {
	for i := range now {
		switch l := &now[i]; {
		case l.Over(), !l.Held:
		case l.Left < 0:
			return "held by " + holder(l.Status) + " (" + view.Ended(l.Status) + ")"
		default:
			return "held by " + holder(l.Status)
		}
	}
	return view.Free
}

// errSilent is the failure of a wait in which nothing else has failed.
var errSilent = fmt.Errorf("%w: no answer in time", locks.ErrUnavailable)

// errSeen ends a Follower when the lock is as wanted.
var errSeen = errors.New("seen")

// await waits until the lock is as wanted.
func (p *operator) await(until string, interval time.Duration) error {
	if err := p.needLock(); err != nil {
		return err
	}
	if until == "" {
		return output.WithHint(locks.Usagef("--for is missing"), "add --for free, --for held or --for change")
	}
	v, err := p.see(false, "leaderrun wait")
	if err != nil {
		return err
	}
	defer v.close()
	signalled, stop := context.WithCancelCause(context.Background())
	_, ended := env.UntilEnded(stop)
	ctx, cancel := context.WithCancel(signalled)
	if p.opt.Wait.Given {
		ctx, cancel = context.WithTimeout(signalled, max(p.opt.Wait.D, firstAnswer))
	}
	defer cancel()
	began := time.Now()
	var last []view.Lock // nil until there was an answer
	heard := answers.New(nil, p.opt.TTL.D, v.Timeout)
	f := &view.Follower{Store: v.Store, Interval: interval, Patient: true, Seen: func(now []view.Lock, changes []view.Change) error {
		if len(changes) > 0 && changes[0].Kind == view.Unreachable {
			p.env.Console.Log().Warn("no answer, still trying", "err", changes[0].Trouble)
			heard.Failed(changes[0].Trouble, false)
			return nil
		}
		first := last == nil
		last = now
		heard.Held(now[0].Status)        // or free
		for _, odd := range now[0].Odd { // its slots may be held, but hidden
			v.logger.Warn("the lock looks odd", "lock", now[0].Name, "reason", odd)
		}
		switch {
		case met(until, now, changes, first):
			return errSeen
		case p.opt.Wait.Given && time.Since(began) >= p.opt.Wait.D: // the first answer took all the time
			return v.timedOut(now)
		case first:
			if p.opt.Wait.Given { // the first answer has taken a part of it
				time.AfterFunc(time.Until(began.Add(p.opt.Wait.D)), cancel)
			}
			p.env.Console.Info(fmt.Sprintf("lock %q is %s; waiting, in %s", p.opt.Lock, described(now), v.where()))
		}
		return nil
	}}
	err = f.Follow(ctx)
	sig := ended()
	switch {
	case errors.Is(err, errSeen):
		return nil
	case sig != nil:
		return &runner.SignalError{Signal: sig}
	case ctx.Err() != nil && f.Down():
		if err = heard.Verdict(errSilent); errors.Is(err, locks.ErrHeld) {
			return v.timedOut(last)
		}
	case ctx.Err() != nil:
		return v.timedOut(last)
	}
	return output.Explain(p.opt.Lock, err)
}

// firstAnswer is how long we wait for the first answer, however short --wait is.
const firstAnswer = time.Second

// met reports whether the lock is as wanted.
func met(until string, now []view.Lock, changes []view.Change, first bool) bool {
	switch until {
	case "free":
		return free(now)
	case "held":
		return !free(now)
	}
	for _, c := range changes {
		if !first && c.Lock != nil && c.Kind != view.Waiting {
			return true
		}
	}
	return false
}

// free reports whether nobody has the lock or one of its slots. Nobody has what a holder has not
// released, but whose lease has certainly ended.
func free(now []view.Lock) bool {
	return !slices.ContainsFunc(now, func(l view.Lock) bool { return l.Held && !l.Over() })
}
