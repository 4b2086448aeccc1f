package caslease

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Where something between us and the store can have written a Date, it may be wrong: see
// [ByStamps]. So a takeover that relies on a Date is in doubt until the cell's own stamps,
// before and after, have shown that the previous term was over. Until then three things
// hold, even if answers are lost or this process dies:
//
//   - The state that takes over has a lease no shorter than the one that it replaces.
//     Whoever comes next waits for that, even if we are gone.
//   - If we find that state again, we wait for the rest of the term that it replaced.
//   - We do not mark it as free.

// A doubt is about a takeover of ours that may have come too early. The zero value means that there is no doubt.
type doubt struct {
	before *view         // what the takeover replaced; nil: there is no doubt
	until  clock.Instant // when the replaced term has certainly ended
}

// begin notes what a takeover replaces, before it is sent.
func (d *doubt) begin(before *view, t *term) {
	t.state.TTLms = max(t.state.TTLms, before.state.TTLms)
	d.before, d.until = before, before.received.Add(before.state.ttl())
}

// left returns how long the replaced term may still last, given a view of our takeover; 0 or
// less: it has ended.
func (d *doubt) left(after *view, t *Traits) time.Duration {
	if d.before == nil {
		return 0
	}
	early := t.early(d.before, after)
	if early <= 0 {
		d.before = nil
		return 0
	}
	d.until = min(d.until, after.received.Add(early))
	return d.until.Sub(t.Clock.Now())
}

// early returns how much too early a term was taken over, by the stamps of the last change
// before the takeover and of the takeover. A wrong Date does not affect it: both stamps are
// of one clock.
func (t *Traits) early(before, after *view) time.Duration {
	return before.state.ttl() + t.Margin/2 - after.Updated.Sub(before.Updated)
}
