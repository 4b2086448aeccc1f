package runner

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// epoch is where the boot clocks of the tests start, unlike Go's clock.
const epoch clock.Instant = clock.Instant(1000 * time.Hour)

// A world has the true time of one test: the time of its synctest bubble, which Go's timers
// follow, and the time for which the machine slept, which they do not notice. Its boot clock
// shows both. It records what happens, and when.
type world struct {
	t     *testing.T
	start time.Time
	reads atomic.Int64 // of the boot clock

	mu    sync.Mutex
	slept time.Duration
	trace []string
}

func newWorld(t *testing.T) *world { return &world{t: t, start: time.Now()} }

// Now implements clock.Clock.
func (w *world) Now() clock.Instant {
	w.reads.Add(1)
	return epoch.Add(w.now())
}

// now returns the true time since the start.
func (w *world) now() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.start) + w.slept
}

// sleep makes the machine sleep for d, which Go's timers do not notice.
func (w *world) sleep(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slept += d
}

// at calls f when d has passed since the start, on Go's clock.
func (w *world) at(d time.Duration, f func()) { time.AfterFunc(d-time.Since(w.start), f) }

// note records that something happens now.
func (w *world) note(what string) {
	at := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, at.String()+" "+what)
}

// A server keeps one lease, which it ends by true time.
type server struct {
	w   *world
	ttl time.Duration // 0: the lease never ends

	mu      sync.Mutex
	held    bool
	expiry  time.Duration
	ended   time.Duration // when the last lease was released
	evicted bool          // an operator has taken the lease away
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
		s.w.t.Errorf("renewed at %v a lease that expired at %v", now, s.expiry)
	}
	s.expiry = now + s.ttl
	return nil
}

// release releases the lease, on the condition of our token.
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

// free reports whether somebody else could hold the lock now. An eviction does not count: nobody
// can know of it in time, so the job can only be killed soon after it.
func (s *server) free() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.evicted && (!s.held || s.ttl > 0 && s.w.now() >= s.expiry)
}
