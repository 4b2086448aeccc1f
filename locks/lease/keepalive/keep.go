package keepalive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// spacing is the least time, after a failure, from the sending of one attempt to the
// sending of the next: a sixth of R. If an attempt used up its time limit, the next
// follows at once.
func spacing(o Options) time.Duration { return o.Interval / 6 }

// An attempt is one Renew under way, in its own goroutine.
type attempt struct {
	sent   clock.Instant
	answer chan error // its one outcome, then closed; nil if none is under way
}

// startAttempt calls renew. The limit counts on Go's clock, which stops in suspend. That
// only affects how soon we try again, never how long the lease is trusted.
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

// keep starts a term. The request that was granted was sent at the given moment.
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

// run is the renewal loop of one term. It returns why the term ended. It never blocks:
// whatever may block (Renew, the logger, Renewed) happens in the attempt, so that the
// loop always notices E.
func (l *Lease) run(ctx context.Context, sent clock.Instant) error {
	due, expiry := l.due(sent.Add(l.o.Interval)), l.expiry()
	defer func() { due.Stop(); expiry.Stop() }()
	for lost := l.lock.Lost(); ; {
		select {
		case <-ctx.Done():
			return ErrReleased
		case err := <-lost:
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
			due = l.due(l.renewing.sent.Add(pause))
			l.renewing.answer = nil
		}
	}
}

// left returns the time from now to E.
func (l *Lease) left() time.Duration {
	e, _ := l.Deadline()
	return e.Sub(l.o.Clock.Now())
}

// due returns the timer for a renewal. A lease that cannot end while this process lives needs no
// timers.
func (l *Lease) due(at clock.Instant) *clock.Timer {
	if l.grant.TTL == 0 {
		return new(clock.Timer)
	}
	return clock.NewPause(l.o.Clock, at)
}

// expiry returns the timer for the present E.
func (l *Lease) expiry() *clock.Timer {
	e, ends := l.Deadline()
	if !ends {
		return new(clock.Timer)
	}
	return clock.NewTimer(l.o.Clock, e)
}

// renew begins one attempt. Its answer is what the attempt meant for the term.
func (l *Lease) renew(ctx context.Context, limit time.Duration) attempt {
	sent := l.o.Clock.Now()
	return startAttempt(ctx, sent, limit, func(ctx context.Context) error {
		return l.answered(sent, l.lock.Renew(ctx))
	})
}

// answered takes the outcome of a renewal that was sent at the given moment. It returns
// nil if the renewal moved the deadline. An answer after the end of the term changes
// nothing and is not reported.
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
		l.end(err) // before the report, because that may block
	}
	l.report(r)
	return err
}

// late returns the outcome of a renewal that was answered after E. Even a success comes
// too late: somebody may have led in between, so we must not use what the server
// extended.
func late(err error) error {
	if err == nil {
		return ErrExpired
	}
	return fmt.Errorf("%w: %v", ErrExpired, err)
}

// asLost makes any error from Lost one that ends the term.
func asLost(err error) error {
	if errors.Is(err, locks.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %v", locks.ErrLost, err)
}

// report logs a renewal and calls Renewed. One failure that the next attempt mends concerns
// nobody. The second in a row is a warning, or the first after which less than half of the lease
// is left; the rest is for Renewed to log.
func (l *Lease) report(r Renewal) {
	left := r.Deadline.Sub(r.Done)
	switch {
	case r.Err == nil && l.failed > 0:
		l.o.Logger.Info("renewing again", "left", left)
	case r.Err == nil: // Renewed may log it
	case l.warned || errors.Is(r.Err, locks.ErrLost): // the end of a term is reported elsewhere
	case l.failed > 0 || left < l.grant.TTL/2:
		l.warned = true
		l.o.Logger.Warn("renewal failed, will retry", "left", left, "err", r.Err)
	default:
		l.o.Logger.Info("renewal failed, will retry", "left", left, "err", r.Err)
	}
	if l.failed++; r.Err == nil {
		l.failed, l.warned = 0, false
	}
	if l.o.Renewed != nil {
		l.o.Renewed(r)
	}
}
