package caslease

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// An observer judges whether the term in a cell's state is over. The store has no leases:
// it keeps the state as of the last renewal. Two things can prove that a lease of length L
// after that renewal has ended, and neither needs two machines to agree on the time:
//
//   - The answer itself: its Date is later than the cell's last change by more than L and
//     a margin, both by the store's clock. That is known at the first look, so the lock of
//     a holder that died long ago can be taken soon. The store says whether this is
//     proof: see [Expiry].
//   - Our own clock: the cell has not changed for L, between the arrival of one answer
//     and the sending of a later request. The holder relies on less than L, by more than
//     two clocks can drift apart in that time.
//
// The clock of a store may be wrong. If it is slewed, it runs up to a tenth too fast, for which
// the margin has room. If it is set forward, every lease seems to have ended. So the store's
// clock is believed only by an observer that has itself seen the cell unchanged for as long as
// a healthy holder may be silent ([keepalive.Silence]), unless the store is Disciplined. Then a
// holder that renews is never robbed. What is left is a clock that is set forward while the
// holder cannot renew: two may lead then, from the end of that silence until the holder's own
// deadline.
type observer struct {
	traits *Traits
	first  *view // the first view of the cell in its present version
	moved  bool  // it was seen in another version before: whoever has changed it lives
}

// left returns how long the term of a view may still last, counted from the arrival of the
// view, and what that is judged by. 0 or less: the term is over.
func (o *observer) left(v *view) (left time.Duration, by Expiry) {
	if o.traits.Expiry == ByLease {
		return 0, ByLease // otherwise the cell would be Leased
	}
	if o.first == nil || o.first.Version != v.Version {
		o.first, o.moved = v, o.first != nil
	}
	watched := v.sent.Sub(o.first.received)
	left = v.state.ttl() - watched
	if d, ok := o.traits.leftByDate(v); ok && left > 0 {
		if o.traits.Expiry == ByClock && !o.traits.Disciplined {
			d = max(d, keepalive.Silence(v.state.ttl())-watched)
		}
		if d < left {
			return d, o.traits.Expiry
		}
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
// clock, which may be slewed by a twelfth.
func (t *Traits) minAge(v *view) time.Duration {
	return v.state.ttl() + max(t.Margin, v.state.ttl()/8)
}

// expired reports whether somebody may have taken over a lease of ours that was renewed by
// a request sent at the given moment.
func expired(sent, now clock.Instant, ttl time.Duration) bool { return now.Sub(sent) >= ttl }
