//go:build unix

package runner

import (
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// epoch is where the boot clocks of the tests start: not where Go's do.
const epoch clock.Instant = clock.Instant(1000 * time.Hour)

// A world is the true time of one test: that of its synctest bubble, which Go's
// timers follow, and what was slept through in suspend, of which they know
// nothing. Its boot clock shows all of it. It records what happens, and when.
type world struct {
	t     *testing.T
	start time.Time

	mu    sync.Mutex
	slept time.Duration
	trace []string
}

func newWorld(t *testing.T) *world { return &world{t: t, start: time.Now()} }

// Now implements clock.Clock.
func (w *world) Now() clock.Instant { return epoch.Add(w.now()) }

// now is the true time since the start.
func (w *world) now() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.start) + w.slept
}

// sleep lets d pass without Go's timers.
func (w *world) sleep(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slept += d
}

// at calls f so long, on Go's clock, after the start.
func (w *world) at(d time.Duration, f func()) { time.AfterFunc(d-time.Since(w.start), f) }

// note records that something happens now.
func (w *world) note(what string) {
	at := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, at.String()+" "+what)
}

// A server keeps one lease, by true time, and really ends it.
type server struct {
	w   *world
	ttl time.Duration // 0: for ever

	mu      sync.Mutex
	held    bool
	expiry  time.Duration
	ended   time.Duration // when the last lease ended otherwise than by running out
	evicted bool          // an operator took it away
}

func (s *server) grant() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.evicted, s.expiry = true, false, s.w.now()+s.ttl
}

func (s *server) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.w.now()
	switch {
	case s.evicted:
		return locks.ErrLost
	case !s.held:
		return locks.ErrNoLease
	case now >= s.expiry:
		s.w.t.Errorf("renewed at %v a lease that ran out at %v", now, s.expiry)
	}
	s.expiry = now + s.ttl
	return nil
}

// release gives up what is held; it is conditional on our token.
func (s *server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		s.held, s.ended = false, s.w.now()
	}
}

// evict takes the lease away.
func (s *server) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evicted = true
}

// free reports whether somebody else could hold the lock now. An eviction does
// not count: it comes without notice, and all that can be promised is haste.
func (s *server) free() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.evicted && (!s.held || s.ttl > 0 && s.w.now() >= s.expiry)
}
