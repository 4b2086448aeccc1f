package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/options"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/cmd/view"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner"
)

func waitCommand(e *env.Env) *options.Command {
	return define(e, "wait", "wait until a lock is free, is held, or has another holder, without taking it", func(p *operator) ([]options.Option, func(*options.Request) error) {
		var until options.Choice
		var interval options.Duration
		return []options.Option{
				p.As("lock", "`NAME` of the lock"),
				{Name: "for", Group: "Waiting", Value: until.Of("free", "held", "change"), From: options.Arguments,
					Usage: "wait until the lock is `WHAT`: free, held, or change, until it has another holder or another state than now"},
				p.As("wait", "give up after `DURATION`, with exit status 75; a bare number is seconds (default: never)"),
				p.As("conflict-exit-code", "exit with `N` if we gave up"),
				intervalOption(&interval, "1s"),
			}, func(*options.Request) error {
				if err := checkInterval(interval.D); err != nil {
					return err
				}
				return p.await(until.Value, interval.D)
			}
	})
}

// gaveUp says that what was waited for has not come about in time.
func (p *operator) gaveUp(until string) error {
	err := fmt.Errorf("lock %q: waited in vain: %s", p.Lock, map[string]string{
		"free": "it is still held", "held": "it is still free", "change": "it has not changed"}[until])
	return &output.Exit{Status: p.Conflict.N, Err: err, Quiet: true}
}

// errSeen ends following when what was waited for is there.
var errSeen = errors.New("seen")

func (p *operator) await(until string, interval time.Duration) error {
	if err := p.needLock(); err != nil {
		return err
	}
	if until == "" {
		return output.WithHint(&locks.UsageError{What: "nothing says what to wait for"}, "add --for free, --for held or --for change")
	}
	v, err := p.see(false, "leaderrun wait")
	if err != nil {
		return err
	}
	defer v.close()
	signalled, stop := context.WithCancelCause(context.Background())
	_, ended := env.UntilEnded(stop)
	ctx, cancel := context.WithCancel(signalled)
	if p.Wait.Given {
		ctx, cancel = context.WithTimeout(signalled, max(p.Wait.D, firstAnswer))
	}
	defer cancel()
	began := time.Now()
	first := true
	f := &view.Follower{Store: v.store(), Interval: interval, Patient: true, Seen: func(now []view.Lock, changes []view.Change) error {
		if len(changes) > 0 && changes[0].Kind == view.Unreachable {
			p.Term.Log().Warn("no answer, still trying", "err", changes[0].Trouble)
			return nil
		}
		defer func() { first = false }()
		switch {
		case met(until, now, changes, first):
			return errSeen
		case p.Wait.Given && time.Since(began) >= p.Wait.D: // there was an answer, and no more time
			return p.gaveUp(until)
		case first:
			if p.Wait.Given { // the first answer may have taken a part of it, or more
				time.AfterFunc(time.Until(began.Add(p.Wait.D)), cancel)
			}
			p.Term.Info(fmt.Sprintf("lock %q is %s; waiting", p.Lock, stateOf(now)))
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
		return fmt.Errorf("%w: lock %q: the backend could not be reached any more", locks.ErrUnavailable, p.Lock)
	case ctx.Err() != nil && first:
		return fmt.Errorf("%w: lock %q: no answer in time", locks.ErrUnavailable, p.Lock)
	case ctx.Err() != nil:
		return p.gaveUp(until)
	}
	return output.Explain(p.Lock, err)
}

// firstAnswer is how long the first answer is waited for, however short the wait is.
const firstAnswer = time.Second

// met reports whether what is waited for is there.
func met(until string, now []view.Lock, changes []view.Change, first bool) bool {
	switch until {
	case "free":
		return stateOf(now) == view.Free
	case "held":
		return stateOf(now) != view.Free
	}
	for _, c := range changes {
		if !first && c.Lock != nil && c.Kind != view.Waiting {
			return true
		}
	}
	return false
}

// stateOf is that of a lock with all its slots.
func stateOf(now []view.Lock) string {
	for i := range now {
		if now[i].Held {
			return now[i].Is()
		}
	}
	return view.Free
}
