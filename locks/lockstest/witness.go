package lockstest

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// A witness sees every call of every handle in a test, and reports what nothing excuses, however
// busy the machine is: more holders at once than the lock allows, a token that is not above one
// that was granted before, and a renewal or a record that is accepted from a handle while
// another has the lock.
//
// It judges by stamps of the boot clock that each handle takes itself. That of a grant proves
// something only if it was taken while the lease ran: a contender that got no processor between
// the two has nothing to say, and its grant is dropped and counted. The lease of another holder
// counts only until its E (package keepalive).
//
// An operator who deletes a lock, breaks a term or writes into the store ends terms without
// their holders: see lapse.
type witness struct {
	tb      testing.TB
	now     func() clock.Instant
	mu      sync.Mutex
	aliases map[string]string // other addresses of a store
	locks   map[string]*witnessed
	dropped int
}

// A witnessed lock is what is certain about a lock.
type witnessed struct {
	token uint64 // the highest that was granted
	terms map[*handle]witnessedTerm
}

func newWitnessed() *witnessed { return &witnessed{terms: map[*handle]witnessedTerm{}} }

// A witnessedTerm is a term that has not ended, as far as its holder is concerned.
type witnessedTerm struct {
	holder string
	token  uint64
	slots  int           // as many holders the holder allows
	at     clock.Instant // when the grant was known
}

// A handle is what a witness knows about one handle on a lock.
type handle struct {
	w      *witness
	lock   string
	holder string
	slots  int // as many may hold the lock at once; at least 1

	// These are guarded by the witness's mu.
	ttl     time.Duration // of the last grant; 0 if it has no lease
	sent    clock.Instant // before the last acknowledged request was sent
	calls   int           // of Acquire, ever
	waiting int           // calls of Acquire that have not returned
}

func newWitness(tb testing.TB, now func() clock.Instant) *witness {
	return &witness{tb: tb, now: now, aliases: map[string]string{}, locks: map[string]*witnessed{}}
}

// alias notes that an address is another one of the same store.
func (w *witness) alias(of, u *url.URL) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.aliases[u.String()] = of.String()
}

// handle returns a new handle on a lock, or, if slots is not 0, on a lock with so many slots.
func (w *witness) handle(u *url.URL, o locks.Options, slots int) *handle {
	w.mu.Lock()
	defer w.mu.Unlock()
	store := u.String()
	if of, ok := w.aliases[store]; ok {
		store = of
	}
	lock := fmt.Sprintf("%s\n%s\nwith slots: %v", store, o.Name, slots > 0) // with slots it is another lock
	if w.locks[lock] == nil {
		w.locks[lock] = newWitnessed()
	}
	return &handle{w: w, lock: lock, holder: o.Holder, slots: max(1, slots)}
}

// lapse forgets all terms, because an operator may have ended them or harmed their records.
func (w *witness) lapse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.locks {
		w.locks[name] = newWitnessed()
	}
}

// end is E of the handle's lease.
func (h *handle) end() clock.Instant {
	if h.ttl == 0 {
		return clock.Never
	}
	return h.sent.Add(keepalive.Trusted(h.ttl))
}

// acquires is called before Acquire, and returns what to call after it.
func (h *handle) acquires() func(locks.Grant, error) {
	w := h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	sent, asked := w.now(), w.locks[h.lock]
	before := asked.token
	h.calls++
	h.waiting++
	return func(g locks.Grant, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		h.waiting--
		if err == nil {
			h.granted(g, max(h.sent, sent), asked, before)
		}
	}
}

// granted judges a grant. What was known when Acquire was called was the lock, asked, with the
// highest token, before.
func (h *handle) granted(g locks.Grant, sent clock.Instant, asked *witnessed, before uint64) {
	now, l := h.w.now(), h.w.locks[h.lock]
	h.ttl, h.sent = g.TTL, sent
	if h.slots == 1 { // each slot has tokens of its own
		if g.Token <= before && asked == l {
			trial.Final(h.w.tb, "%s got token %d, and %d had been granted before it asked", h.holder, g.Token, before)
		}
		l.token = max(l.token, g.Token)
	}
	if now >= h.end() {
		h.w.dropped++
		return
	}
	others, allowed := "", h.slots
	n := 1
	for other, t := range l.terms {
		if left := other.end().Sub(now); left > 0 && other != h {
			n, allowed = n+1, min(allowed, t.slots)
			others += fmt.Sprintf("\n%s has token %d for another %v", t.holder, t.token, left)
		}
	}
	if n > allowed {
		trial.Final(h.w.tb, "%d hold the lock at once, and %d may: %s was granted token %d, but%s", n, allowed, h.holder, g.Token, others)
	}
	l.terms[h] = witnessedTerm{h.holder, g.Token, h.slots, now}
}

// gives is called before the handle gives up its term.
func (h *handle) gives() {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	delete(h.w.locks[h.lock].terms, h)
}

// writes is called before a renewal or a record is written, and returns what to call after it.
// A handle that waits may renew its place.
func (h *handle) writes(what string) func(error) {
	w := h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	sent, waiting, calls := w.now(), h.waiting > 0, h.calls
	return func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil {
			return
		}
		now, l := w.now(), w.locks[h.lock]
		if what == renewal {
			h.sent = max(h.sent, sent)
		}
		if _, ours := l.terms[h]; ours && now < h.end() || waiting || h.waiting > 0 || h.calls != calls || h.slots > 1 {
			return
		}
		for other, t := range l.terms {
			if left := other.end().Sub(now); other != h && t.at < sent && left > 0 {
				trial.Final(w.tb, "a %s of %s was accepted, while %s has token %d for another %v", what, h.holder, t.holder, t.token, left)
			}
		}
	}
}

// What a handle writes.
const (
	renewal = "renewal"
	record  = "record"
)
