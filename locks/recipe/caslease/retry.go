package caslease

import (
	"context"
	"time"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// repeat repeats a request until it succeeds, or cannot succeed, or ctx ends. After a
// request that came too soon it pauses for at least pace. Before each pause it calls stop
// with the error and the longest that the pause may take, and returns the error that stop
// returns, if any.
func (l *Lock) repeat(ctx context.Context, pace time.Duration, stop func(err error, pause time.Duration) error, once func() error) error {
	for pause := newBackoff(); ; {
		err := once()
		if err == nil {
			return nil
		}
		kind := l.kind(err)
		if kind == causes.Throttled {
			pause.AtLeast(pace)
		} else if kind != causes.Changed && !kind.Transient() {
			return err
		}
		if why := stop(err, pause.Next()); why != nil {
			return why
		}
		if pause.Wait(ctx) != nil {
			return err
		}
	}
}

// insist repeats a request of somebody who need not have the lock, until it succeeds, or
// cannot succeed, or the time for an answer is over.
func (l *Lock) insist(ctx context.Context, once func() error) error {
	start := l.now()
	return l.repeat(ctx, l.traits.Pace, func(err error, pause time.Duration) error {
		switch kind := l.kind(err); {
		case kind == causes.Changed, kind == causes.Throttled:
			return nil
		case kind == causes.Unreachable, l.late(start, pause):
			return err
		}
		return nil
	}, once)
}

// patiently makes a request that changes nothing, and repeats it for as long as an answer
// may take.
func (l *Lock) patiently(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.Options.ConnectTimeout)
	defer cancel()
	return l.insist(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, l.Options.ConnectTimeout/2)
		defer cancel()
		return request(ctx)
	})
}

// late reports whether it is too late to try something again after a pause, given when it
// began. The error that says what is wrong must arrive before the caller gives up.
func (l *Lock) late(start clock.Instant, pause time.Duration) bool {
	return l.now().Sub(start)+pause > l.Options.ConnectTimeout*3/4
}
