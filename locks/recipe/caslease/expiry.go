package caslease

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// An observer judges whether the term in a cell's state is over. The store has no leases:
// it keeps the state as of the last renewal. Two things can prove that a lease of length L
// after that renewal has ended, and neither needs two machines to agree on the time:
//
//   - The answer itself: its Date is later than the cell's last change by more than L and
//     a margin, both by the store's clock. That is known at the first look, so the lock of
//     a holder that died long ago can be taken at once. The store says whether this is
//     proof: see [Expiry].
//   - Our own boot clock: the cell has not changed for L, between the arrival of one answer
//     and the sending of a later request. The holder relies on less than L, by more than
//     two clocks can drift apart in that time.
type observer struct {
	traits *Traits
	first  *view // the first view of the cell in its present version
}

// left returns how long the term of a view may still last, counted from the arrival of the
// view, and what that is judged by. 0 or less: the term is over.
func (o *observer) left(v *view) (left time.Duration, by Expiry) {
	if o.traits.Expiry == ByLease {
		return 0, ByLease // otherwise the cell would be Leased
	}
	if o.first == nil || o.first.Version != v.Version {
		o.first = v
	}
	left = v.state.ttl() - v.sent.Sub(o.first.received)
	if d, ok := o.traits.leftByDate(v); ok && left > 0 && d < left {
		return d, o.traits.Expiry
	}
	return left, ByWatching
}

// leftByDate returns the same by the store's clock. If a Date is rounded down, we wait
// longer. A Date that is missing, or before the last change, says nothing.
func (t *Traits) leftByDate(v *view) (time.Duration, bool) {
	if t.Expiry == ByWatching || v.Updated.IsZero() || v.Date.Before(v.Updated) {
		return 0, false
	}
	return t.minAge(v) - v.Date.Sub(v.Updated), true
}

// minAge returns how long after the last change of a cell its term is over by the store's
// clock.
func (t *Traits) minAge(v *view) time.Duration { return v.state.ttl() + t.Margin }

// expired reports whether somebody may have taken over a lease of ours that was renewed by
// a request sent at the given moment.
func expired(sent, now clock.Instant, ttl time.Duration) bool { return now.Sub(sent) >= ttl }
