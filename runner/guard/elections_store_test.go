package guard

import (
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A store keeps the lock. It ends leases by its own clock. The world's mutex protects it.
type store struct {
	w       *world
	clock   skewed
	token   uint64
	terms   []*term
	current *term // nil: the lock is free
	down    bool
	changed chan struct{} // closed when the lock becomes free
}

// A term is one grant. From the time free, somebody else can get the lock.
type term struct {
	token  uint64
	host   int
	nonce  string
	expiry clock.Instant // by the store's clock
	ended  how
	free   time.Duration // in true time; valid if ended is set
	lapsed time.Duration // when it expired while nobody wanted the lock; 0: it did not
	clean  bool
}

// A how says how a term ended.
type how string

const (
	expired  how = "expired"
	released how = "been released"
	revoked  how = "been taken away" // by the store or an operator: leaderrun cannot know that at once
)

// An answer is an answer of the store.
type answer struct {
	grant locks.Grant
	held  string // who else holds the lock, or ""
	err   error
}

// expiry returns the true time at which a term ends if it is not renewed.
func (s *store) expiry(t *term) time.Duration { return s.clock.when(t.expiry) }

// ttl returns the end of a lease that begins now.
func (s *store) ttl() clock.Instant { return s.clock.at(s.w.now()).Add(s.w.timing.TTL) }

// tick ends a lease that has expired.
func (s *store) tick() {
	t := s.current
	if t == nil {
		return
	}
	if left := t.expiry.Sub(s.clock.at(s.w.now())); left > 0 {
		return
	}
	s.end(t, expired)
	t.free = s.expiry(t)
}

// watch arranges that a term ends when its lease expires.
func (s *store) watch(t *term) {
	left := t.expiry.Sub(s.clock.at(s.w.now()))
	time.AfterFunc(max(left, 0)+time.Microsecond, func() {
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		s.tick()
		if s.current == t {
			s.watch(t)
		}
	})
}

func (s *store) end(t *term, why how) {
	s.w.note(t.host, string(why), int64(t.token))
	t.ended, t.free = why, s.w.now()
	s.current = nil
	close(s.changed)
	s.changed = make(chan struct{})
}

// acquire grants the lock if it is free. If the nonce was granted the lock before, it returns
// that grant.
func (s *store) acquire(h *handle) answer {
	s.tick()
	if s.current == nil {
		clean := true
		if n := len(s.terms); n > 0 {
			clean = s.terms[n-1].ended == released
		}
		s.token++
		s.current = &term{token: s.token, host: h.l.host.id, nonce: h.nonce, expiry: s.ttl(), clean: clean}
		s.terms = append(s.terms, s.current)
		s.w.note(h.l.host.id, "granted", int64(s.token))
		s.watch(s.current)
	}
	if t := s.current; t.nonce != h.nonce {
		return answer{held: fmt.Sprintf("host %d", t.host)}
	}
	return answer{grant: locks.Grant{Token: s.current.token, TTL: s.w.timing.TTL, Clean: s.current.clean}}
}

// renew extends a lease. A lax store revives a lease that has expired if nobody has wanted
// the lock since. That is wrong if something may run under the lease, and right before.
func (s *store) renew(h *handle, token uint64) answer {
	s.tick()
	if n := len(s.terms); s.current == nil && s.w.lax && n > 0 && s.terms[n-1].ended == expired {
		s.current = s.terms[n-1]
		if s.current.lapsed == 0 && h.held {
			s.current.lapsed = s.current.free
			s.w.note(s.current.host, "resurrected", int64(s.current.token))
		}
		s.current.ended = ""
		defer s.watch(s.current)
	}
	if t := s.current; t == nil || t.token != token || t.nonce != h.nonce {
		return answer{err: locks.ErrLost}
	}
	s.current.expiry = s.ttl()
	s.w.note(s.current.host, "renewed", int64(token))
	return answer{}
}

// release releases a lock by the nonce of its grant, whatever the token.
func (s *store) release(nonce string) answer {
	s.tick()
	if t := s.current; t != nil && t.nonce == nonce {
		s.end(t, released)
	}
	return answer{}
}

// evict takes the lock away from its holder. It reports whether there was one.
func (s *store) evict() bool {
	s.tick()
	t := s.current
	if t == nil {
		return false
	}
	s.end(t, revoked)
	if l := s.w.hosts[t.host].leaderrun; l != nil && l.handle != nil {
		l.handle.evicted(t)
	}
	return true
}

// restarted ends an outage. Some servers extend all leases then.
func (s *store) restarted() {
	s.tick()
	s.down = false
	if s.w.extends && s.current != nil {
		s.current.expiry = s.ttl()
	}
}

func (s *store) term(token uint64) *term {
	for i := len(s.terms) - 1; i >= 0; i-- {
		if s.terms[i].token == token {
			return s.terms[i]
		}
	}
	return nil
}
