package guard

import (
	"cmp"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// This file checks the promises, in true time. Callers of its functions hold mu.

// rounding is the error of the model's clocks.
const rounding = time.Microsecond

// limit returns when the job of a term must be gone, because somebody else could have the
// lock from then on, and whether that is settled. If the lock was taken away, leaderrun
// could not know that, and the limit is the end of the lease.
func (w *world) limit(t *term) (at time.Duration, settled bool) {
	switch {
	case t.lapsed != 0:
		return t.lapsed, true
	case t.ended == revoked:
		return w.store.expiry(t), true
	}
	return t.free, t.ended != ""
}

// checkStart is called when a job starts.
func (w *world) checkStart(k *work) {
	t := w.store.term(k.token)
	if t == nil || t.host != k.host.id {
		w.broken("a job has its token", "a job starts with token %d, which host %d was not granted", k.token, k.host.id)
		return
	}
	again := false // this leader has started its job before
	for _, other := range w.works {
		again = again || other.token == k.token
		if other.token > k.token && t.ended != revoked && !k.host.slept(k) {
			w.broken("tokens rise", "token %d is used after %d", k.token, other.token)
		}
	}
	if !again {
		w.elections++
	}
	if w.elapsed() >= w.until {
		w.leads()
	}
}

// leads notes that somebody leads after the faults.
func (w *world) leads() {
	select {
	case <-w.led:
	default:
		close(w.led)
	}
}

// checkEnd is called when a job ends. A machine that slept until the end of the lease, or
// until the moment at which to kill, cannot keep the promise. It must notice that soon after
// it has woken up.
func (w *world) checkEnd(k *work) {
	w.store.tick()
	now, t := w.now(), w.store.term(k.token)
	if t == nil {
		return
	}
	limit, settled := w.limit(t)
	if !settled && !k.host.slept(k) {
		w.slack = min(w.slack, w.store.expiry(t)-now)
	}
	if t.ended == revoked && now > t.free {
		k.excused = "the lock was taken away"
		w.excused[k.excused]++
		w.outrun = max(w.outrun, now-t.free)
		w.checkNotice(k, t)
	}
	switch {
	case !settled || now <= limit+rounding:
	case k.host.slept(k) && k.host.woke > limit-w.timing.Margin-w.timing.Death && now <= k.host.woke+w.notice()+k.dying:
		k.excused = "the machine slept until its lease was over"
		if k.host.woke < limit {
			k.excused = "the machine slept until the job was to be killed"
		}
		w.excused[k.excused]++
	default:
		w.broken("no job when the lock can be another's", "the job of token %d ends %v after its lease, which has %s", k.token, now-limit, t.ended)
	}
}

// notice is how long a machine's timers may not know that it has woken up; see package clock.
func (w *world) notice() time.Duration {
	const busy = time.Millisecond
	if w.wakes {
		return busy
	}
	return min(w.timing.TTL/8, time.Second) + busy
}

// slept reports whether a host has slept since its job was started.
func (h *node) slept(k *work) bool { return h.woke != 0 && h.woke >= k.began }

// checkNotice is called when a job ends after the lock was taken away. Without other faults,
// the next renewal must notice that.
func (w *world) checkNotice(k *work, t *term) {
	h, timing := k.host, w.timing
	if h.troubles > 0 || h.fineSince > t.free-timing.Renew-timing.Attempt-time.Second {
		return
	}
	const exchange = 50 * time.Millisecond
	if late := w.now() - t.free - timing.Renew - exchange - k.dying; late > 0 {
		w.broken("a loss is noticed", "the job of token %d ends %v after the next renewal, which should have noticed", k.token, late)
	}
}

// checkKill is called when a job is signalled. Without faults, that must not happen.
func (w *world) checkKill(k *work) {
	t, h := w.store.term(k.token), k.host
	if w.over || t == nil || t.ended == revoked || h.troubles > 0 || h.fineSince > k.began-w.timing.TTL && h.fineSince > 0 {
		return
	}
	w.broken("no job is ended without need", "the job of token %d is, and all was well", k.token)
}

// checkFrame sees the frames that leaderrun sends to its guard, and so what it believes.
func (l *leaderrun) checkFrame(f frame) {
	var killBy clock.Instant
	switch f.kind {
	case kindStart:
		t, _ := f.startOrder()
		killBy = t.killBy
	case kindDeadline:
		n, _ := f.number()
		killBy = clock.Instant(n)
	default:
		return
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.checkDeadline(l, l.handle.token, killBy.Add(l.w.timing.Margin+l.w.timing.Death))
}

// checkDeadline compares E, as leaderrun believes in it, with the end of the lease in the
// store.
func (w *world) checkDeadline(l *leaderrun, token uint64, e clock.Instant) {
	t := w.store.term(token)
	if t == nil || l.isDead() {
		return
	}
	if late := l.host.clock.when(e) - w.store.expiry(t); late > rounding {
		w.broken("E is not after the end of the lease", "token %d is trusted for %v too long", token, late)
	}
}

// checkOverlaps looks for jobs that were alive at the same time, and for one that has not
// ended. Of two jobs, the one with the lower token is wrong.
func (w *world) checkOverlaps() {
	slices.SortFunc(w.works, func(a, b *work) int { return cmp.Compare(a.began, b.began) })
	var last *work
	for _, k := range w.works {
		if k.alive {
			w.broken("every job ends", "the job of token %d is alive", k.token)
		}
		if last != nil && k.began < last.gone {
			stale := last
			if k.token < last.token {
				stale = k
			}
			if stale.excused == "" {
				w.broken("never two jobs", "those of token %d and %d are alive at %v", last.token, k.token, k.began)
			} else {
				w.excused["overlap"]++
			}
		}
		if last == nil || k.gone > last.gone {
			last = k
		}
	}
}
