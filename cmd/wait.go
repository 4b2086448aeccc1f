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

func (p *program) waitCommand() *cli.Command {
	o := newOptions()
	until := choice{"", []string{"free", "held", "change"}}
	interval := seconds{d: time.Second}
	return &cli.Command{
		Name:  "wait",
		Usage: "wait until a lock is free, is held, or has another holder, without taking it",
		Flags: operatorFlags(o,
			lockFlag(o, "`NAME` of the lock"),
			&cli.GenericFlag{Name: "for", Category: "Waiting", Value: &until,
				Usage: "wait until the lock is `WHAT`: free, held, or change, until it has another holder or another state than now"},
			&cli.GenericFlag{Name: "wait", Aliases: []string{"w"}, Category: "Waiting", EnvVars: []string{"LEADERRUN_WAIT"}, Value: &o.wait,
				Usage: "give up after `DURATION`, with exit status 75; a bare number is seconds (default: never)"},
			&cli.GenericFlag{Name: "conflict-exit-code", Aliases: []string{"E"}, Category: "Waiting", EnvVars: []string{"LEADERRUN_CONFLICT_EXIT_CODE"},
				Value: &o.conflict, DefaultText: "75",
				Usage: "exit with `N` if we gave up"},
			&cli.GenericFlag{Name: "interval", Category: "Waiting", Value: &interval, DefaultText: "1s",
				Usage: "look every `DURATION` where the backend cannot tell of changes"},
		),
		Action: func(ctx *cli.Context) error {
			if err := noArguments(ctx); err != nil {
				return err
			}
			if interval.d < shortestInterval {
				return &locks.UsageError{What: fmt.Sprintf("--interval %v is out of range: %v or more", interval.d, shortestInterval)}
			}
			return p.await(o, until.value, interval.d)
		},
	}
}

// gaveUp says that what was waited for has not come about in time.
func (o *options) gaveUp(until string) error {
	err := fmt.Errorf("lock %q: waited in vain: %s", o.lock, map[string]string{
		"free": "it is still held", "held": "it is still free", "change": "it has not changed"}[until])
	return &output.Exit{Status: o.conflict.n, Err: err, Quiet: true}
}

// errSeen ends following when what was waited for is there.
var errSeen = errors.New("seen")

func (p *program) await(o *options, until string, interval time.Duration) error {
	if err := needLock(o); err != nil {
		return err
	}
	if until == "" {
		return output.WithHint(&locks.UsageError{What: "nothing says what to wait for"}, "add --for free, --for held or --for change")
	}
	v, err := p.see(o, false, "leaderrun wait")
	if err != nil {
		return err
	}
	defer v.close()
	signalled, ended := untilSignalled()
	ctx, cancel := signalled, context.CancelFunc(func() {})
	if o.wait.set {
		ctx, cancel = context.WithTimeout(signalled, max(o.wait.d, firstAnswer))
	}
	defer cancel()
	began := time.Now()
	first := true
	f := &view.Follower{Store: v.store(), Interval: interval, Patient: true, Seen: func(now []view.Lock, changes []view.Change) error {
		if len(changes) > 0 && changes[0].Kind == view.Unreachable {
			p.term.Log().Warn("no answer, still trying", "err", changes[0].Trouble)
			return nil
		}
		defer func() { first = false }()
		switch {
		case met(until, now, changes, first):
			return errSeen
		case o.wait.set && time.Since(began) >= o.wait.d: // there was an answer, and no more time
			return o.gaveUp(until)
		case first:
			if o.wait.set { // the first answer may have taken a part of it, or more
				time.AfterFunc(time.Until(began.Add(o.wait.d)), cancel)
			}
			p.term.Info(fmt.Sprintf("lock %q is %s; waiting", o.lock, stateOf(now)))
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
		return fmt.Errorf("%w: lock %q: the backend could not be reached any more", locks.ErrUnavailable, o.lock)
	case ctx.Err() != nil && first:
		return fmt.Errorf("%w: lock %q: no answer in time", locks.ErrUnavailable, o.lock)
	case ctx.Err() != nil:
		return o.gaveUp(until)
	}
	return output.Explain(o.lock, err)
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
