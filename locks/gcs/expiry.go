package gcs

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/clock"
)

// margin is how far the clock that writes the Date of an answer may be behind
// or ahead of the one that stamps objects. Both are Google's, and synchronised
// far better than that.
const margin = time.Second

// An observer judges whether the term that a record speaks of is over. The
// service has no leases: it keeps a record of the last renewal. Two things can
// prove that a lease of length L after it has ended, and neither needs two
// machines to agree on the time:
//
//   - The answer itself: its Date is more than L after the object's last
//     change, both by the service's clocks. That is known at the first look, so
//     that the lock of a holder which died long ago is had at once.
//   - Our own boot clock: the object has not changed for L between the arrival
//     of one answer and the sending of a later request. The holder relies on
//     less than L, by more than two clocks can part meanwhile.
type observer struct {
	first *view // the first that showed the object as it is now
}

// left is how long the term that a view shows may still last, counted from the
// arrival of the view; 0 or less: it is over. Proved says that no clock but our
// own was needed to know.
func (o *observer) left(v *view) (left time.Duration, proved bool) {
	if o.first == nil || !o.first.same(v) {
		o.first = v
	}
	left = v.record.ttl() - v.sent.Sub(o.first.heard)
	if left <= 0 {
		return left, true
	}
	if d, ok := v.leftByDate(); ok && d < left {
		return d, false
	}
	return left, false
}

// leftByDate is the same by the service's clocks. The Date is in whole seconds,
// rounded down: the mistake makes us wait longer. One that is not there, or is
// before the last change, says nothing.
func (v *view) leftByDate() (time.Duration, bool) {
	if v.date.Before(v.updated) {
		return 0, false
	}
	return v.record.ttl() + margin - v.date.Sub(v.updated), true
}

// expired reports that a lease of ours, renewed by a request sent at the given
// moment, may have been taken over.
func expired(sent, now clock.Instant, ttl time.Duration) bool { return now.Sub(sent) >= ttl }
