package caslease

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// An observer judges whether the term that a record speaks of is over. The store has
// no leases: it keeps a record of the last renewal. Two things can prove that a lease
// of length L after it has ended, and neither needs two machines to agree on the time:
//
//   - The answer itself: its Date is more than L and a margin after the cell's last
//     change, both by the store's clock. That is known at the first look, so that the
//     lock of a holder which died long ago is had at once. What that proves is for the
//     store to say: see [Expiry].
//   - Our own boot clock: the cell has not changed for L between the arrival of one
//     answer and the sending of a later request. The holder relies on less than L, by
//     more than two clocks can part meanwhile.
type observer struct {
	traits *Traits
	first  *view // the first that showed the cell as it is now
}

// left is how long the term that a view shows may still last, counted from the
// arrival of the view; 0 or less: it is over. And it is what that is judged by.
func (o *observer) left(v *view) (left time.Duration, by Expiry) {
	if o.first == nil || o.first.Version != v.Version {
		o.first = v
	}
	left = v.state.ttl() - v.sent.Sub(o.first.heard)
	if d, ok := o.traits.leftByDate(v); ok && left > 0 && d < left {
		return d, o.traits.Expiry
	}
	return left, ByWatching
}

// leftByDate is the same by the store's clock. A Date that is rounded down makes us
// wait longer. One that is not there, or is before the last change, says nothing.
func (t *Traits) leftByDate(v *view) (time.Duration, bool) {
	if t.Expiry == ByWatching || v.Updated.IsZero() || v.Date.Before(v.Updated) {
		return 0, false
	}
	return t.over(v) - v.Date.Sub(v.Updated), true
}

// over is how long after the change that a view shows its term is over by the store's
// clock.
func (t *Traits) over(v *view) time.Duration { return v.state.ttl() + t.Margin }

// expired reports that a lease of ours, renewed by a request sent at the given
// moment, may have been taken over.
func expired(sent, now clock.Instant, ttl time.Duration) bool { return now.Sub(sent) >= ttl }
