package caslease

import "time"

// A Date may be wrong, where something on the way can have written it: see [ByStamps]. So a
// takeover that relies on it is in doubt until the cell's own stamps, before and after, have
// shown that the previous term was over. Until then three things hold, whatever becomes of
// the answers and of us:
//
//   - The record that takes over speaks of a lease no shorter than the one it
//     replaces. Whoever comes next waits for that, though we may be gone.
//   - What we find of our own is waited out like the term that it replaced.
//   - It is not marked as free.

// doubt notes, before a takeover is sent, what it replaces.
func (l *Lock) doubt(before *view, t *term) {
	t.state.TTLms = max(t.state.TTLms, before.state.TTLms)
	l.doubted, l.notBefore = before, before.heard.Add(before.state.ttl())
}

// rest is how long the term may still last that we have replaced by what a view
// shows; 0 or less: it is over.
func (l *Lock) rest(after *view) time.Duration {
	if l.doubted == nil {
		return 0
	}
	left := l.traits.early(l.doubted, after)
	if left <= 0 {
		l.doubted = nil
		return 0
	}
	l.notBefore = min(l.notBefore, after.heard.Add(left))
	return l.notBefore.Sub(l.now())
}

// early is how much too early a term was taken over, by the stamps of the last
// change before and of our own. It is what Date cannot lie about: both stamps
// are of one clock.
func (t *Traits) early(before, after *view) time.Duration {
	return before.state.ttl() + t.Margin/2 - after.Updated.Sub(before.Updated)
}
