package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

const (
	// queueing is how long a contender may take to find the lock held.
	queueing = 10 * time.Second
	// handOverPatience is how long it may take to get the lock after a release.
	handOverPatience = 15 * time.Second
)

// A successor is a contender that waits for the lock.
type successor struct {
	handle *handle
	led    chan error // receives the outcome
	at     clock.Instant
}

// A rivalError says that a contender got the lock although another one had it.
type rivalError struct{ at clock.Instant }

func (*rivalError) Error() string {
	return "the lock was given to a second contender while the first one held it"
}

// queue opens a contender and returns when it waits for the lock. It must be ended.
func (e *exam) queue(ctx context.Context, ttl time.Duration) (*successor, error) {
	h, err := e.open(ctx, ttl)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &successor{handle: h, led: make(chan error, 1)}
	h.stop = func() { cancel(); <-h.idle }
	go func() {
		defer close(h.idle)
		err := h.lead(ctx)
		s.at = e.Clock.Now()
		s.led <- err
	}()
	late := time.NewTimer(queueing)
	defer late.Stop()
	select {
	case <-h.waiting:
		return s, nil
	case err = <-s.led:
		if err == nil {
			err = &rivalError{s.at}
		}
	case <-late.C:
		err = fmt.Errorf("a second contender did not find the lock held within %v", queueing)
	}
	h.end(ctx)
	return nil, err
}

// get waits until the successor leads, and returns the time at which it got the lock.
func (s *successor) get(ctx context.Context, patience time.Duration) (clock.Instant, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	start := s.handle.e.Clock.Now()
	for {
		select {
		case err := <-s.led:
			return s.at, err
		case <-tick.C:
			s.handle.e.Progress(fmt.Sprintf("wait for the lock to change hands, %v", s.handle.e.Clock.Now().Sub(start).Round(time.Second)))
		case <-timer.C:
			return 0, fmt.Errorf("the waiter did not get the lock within %v", patience)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// handOver has one contender release the lock, and the next one get it.
func (e *exam) handOver(ctx context.Context) []Check {
	first, err := e.open(ctx, e.patient())
	if err != nil {
		return []Check{failed("hand-over", err)}
	}
	defer func() { first.end(ctx) }()
	if err := first.leadNow(ctx); err != nil {
		return []Check{failed("hand-over", err)}
	}
	second, err := e.queue(ctx, e.patient())
	if err != nil {
		return []Check{failed("hand-over", err)}
	}
	defer func() { second.handle.end(ctx) }()
	e.pace(ctx)
	start := e.Clock.Now()
	if err := first.freeNow(ctx); err != nil {
		return []Check{failed("hand-over", err)}
	}
	at, err := second.get(ctx, handOverPatience)
	if err != nil {
		return []Check{failed("hand-over", err)}
	}
	before, after := first.lease.Grant().Token, second.handle.lease.Grant().Token
	if c := notRisen("hand-over", before, after); c != nil {
		return []Check{*c}
	}
	took := at.Sub(start)
	return []Check{ok("hand-over", figures{"took_ns": took, "tokens": []uint64{before, after}},
		"the waiter held the lock %s after the release; token %d, then %d", show(took), before, after)}
}

// notRisen returns a failed check if the fencing token has not risen, or nil.
func notRisen(name string, before, after uint64) *Check {
	if after > before {
		return nil
	}
	c := wrong(name, "do not use this server with a job that relies on LEADERRUN_TOKEN, and report it", "token %d was followed by token %d", before, after)
	return &c
}

// patienceFor returns how long to wait for the end of a lease. With Consul, nobody gets the lock
// for three times as long.
func patienceFor(g locks.Grant) time.Duration { return 3*g.TTL + handOverPatience }
