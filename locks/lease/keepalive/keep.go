package keepalive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// spacing is the least time from the sending of one attempt to the sending of
// the next after a failure: a sixth of R. An attempt that used up its time
// limit is followed by the next at once.
func spacing(o Options) time.Duration { return o.Interval / 6 }

// An attempt is one Renew under way, in a goroutine of its own.
type attempt struct {
	sent   clock.Instant
	answer chan error // its one outcome, then closed; nil: none is under way
}

// startAttempt calls renew. Its limit counts on Go's clock, which stands still
// in suspend: only how soon we try again depends on it, never what is trusted.
func startAttempt(ctx context.Context, sent clock.Instant, limit time.Duration, renew func(context.Context) error) attempt {
	ctx, cancel := context.WithTimeout(ctx, limit)
	a := attempt{sent: sent, answer: make(chan error, 1)}
	go func() {
		defer close(a.answer)
		defer cancel()
		a.answer <- renew(ctx)
	}()
	return a
}

// keep starts a term that was granted to a request sent at the given moment.
func keep(lock locks.Lock, grant locks.Grant, sent clock.Instant, o Options) *Lease {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Lease{
		lock:     lock,
		grant:    grant,
		o:        o,
		cancel:   cancel,
		done:     make(chan struct{}),
		ended:    make(chan struct{}),
		deadline: sent.Add(Trusted(grant.TTL)),
	}
	go func() {
		defer close(l.ended)
		defer cancel()
		l.end(l.run(ctx, sent))
	}()
	return l
}

// run is the renewal loop of one term. It returns why the term ended. Nothing
// in it blocks: what might (a Renew, the logger, Renewed) happens in the
// attempt, so that E is noticed whatever else is stuck.
func (l *Lease) run(ctx context.Context, sent clock.Instant) error {
	due, expiry := l.timer(sent.Add(l.o.Interval)), l.expiry()
	defer func() { due.Stop(); expiry.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return ErrReleased
		case err := <-l.lock.Lost():
			return asLost(err)
		case <-expiry.C:
			if l.left() <= 0 {
				return ErrExpired
			}
			expiry = l.expiry() // E has advanced since the timer was set
		case <-due.C:
			left := l.left()
			if left <= 0 {
				return ErrExpired
			}
			l.renewing, due = l.renew(ctx, min(l.o.Attempt, left)), new(clock.Timer)
		case err := <-l.renewing.answer:
			if errors.Is(err, locks.ErrLost) {
				return err
			}
			pause := l.o.Interval
			if err != nil {
				pause = spacing(l.o)
			}
			due = l.timer(l.renewing.sent.Add(pause))
			l.renewing.answer = nil
		}
	}
}

// left is the time from now to E.
func (l *Lease) left() time.Duration {
	e, _ := l.Deadline()
	return e.Sub(l.o.Clock.Now())
}

// timer makes one of the loop's timers. A lease that cannot end while this
// process lives needs none.
func (l *Lease) timer(at clock.Instant) *clock.Timer {
	if l.grant.TTL == 0 {
		return new(clock.Timer)
	}
	return clock.NewTimer(l.o.Clock, at)
}

// expiry makes the timer for E as it is now.
func (l *Lease) expiry() *clock.Timer {
	e, _ := l.Deadline()
	return l.timer(e)
}

// renew begins one attempt. The answer that the loop gets is what the attempt
// meant for the term.
func (l *Lease) renew(ctx context.Context, limit time.Duration) attempt {
	sent := l.o.Clock.Now()
	return startAttempt(ctx, sent, limit, func(ctx context.Context) error {
		return l.answered(sent, l.lock.Renew(ctx))
	})
}

// answered takes the outcome of a renewal that was sent at the given moment:
// nil if it moved the deadline. An answer after the end of the term changes
// nothing, and nobody is told of it.
func (l *Lease) answered(sent clock.Instant, err error) error {
	r := Renewal{Sent: sent, Done: l.o.Clock.Now()}
	l.mu.Lock()
	over := l.err != nil
	r.Left = l.deadline.Sub(r.Done)
	switch {
	case over:
	case r.Done >= l.deadline:
		err = late(err)
	case err == nil:
		l.deadline = sent.Add(Trusted(l.grant.TTL))
	}
	r.Deadline, r.Err = l.deadline, err
	l.mu.Unlock()
	if over {
		return err
	}
	if errors.Is(err, locks.ErrLost) {
		l.end(err) // before the report, which may block
	}
	l.report(r)
	return err
}

// late is the outcome of a renewal that was answered after E. Even an
// acknowledgement comes too late: somebody may have led in between, and what
// the server extended is not ours to use any more.
func late(err error) error {
	if err == nil {
		return ErrExpired
	}
	return fmt.Errorf("%w: %v", ErrExpired, err)
}

// asLost is what Lost delivered, as an error that ends the term whatever it
// says.
func asLost(err error) error {
	if errors.Is(err, locks.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %v", locks.ErrLost, err)
}

// report logs a renewal and tells Renewed. The log warns of the first failure
// in a row; the rest is for who looks closely.
func (l *Lease) report(r Renewal) {
	left := r.Deadline.Sub(r.Done)
	switch {
	case r.Err == nil && l.failing:
		l.o.Logger.Info("renewing again", "left", left)
	case r.Err == nil:
		l.o.Logger.Debug("renewed", "took", r.Done.Sub(r.Sent), "left", left)
	case l.failing || errors.Is(r.Err, locks.ErrLost): // the end of a term is told by who ends it
		l.o.Logger.Debug("renewal failed", "left", left, "err", r.Err)
	default:
		l.o.Logger.Warn("renewal failed, will retry", "left", left, "err", r.Err)
	}
	l.failing = r.Err != nil
	if l.o.Renewed != nil {
		l.o.Renewed(r)
	}
}
