package runner

import (
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// The deadlines of the term, as of now: each renewal moves them. A lease that
// cannot end has none, which is [clock.Never].

// expiry is E: until then the lease is surely ours.
func (r *run) expiry() clock.Instant {
	if r.lease == nil { // a hook without one
		return clock.Never
	}
	if e, ends := r.lease.Deadline(); ends {
		return e
	}
	return clock.Never
}

// termAt is D_term.
func (r *run) termAt() clock.Instant { return r.before(r.Timing.TermAt) }

// killAt is D_kill.
func (r *run) killAt() clock.Instant { return r.before(r.Timing.KillAt) }

func (r *run) before(deadline func(clock.Instant) clock.Instant) clock.Instant {
	if e := r.expiry(); e != clock.Never {
		return deadline(e)
	}
	return clock.Never
}

// lostLease is why the lease is not surely ours any more, or nil. If we were frozen,
// we know that first, before the lease itself does.
func (r *run) lostLease() error {
	if r.lease == nil {
		return nil
	}
	if err := r.lease.Err(); err != nil {
		return err
	}
	if r.Clock.Now() >= r.expiry() {
		return keepalive.ErrExpired
	}
	return nil
}
