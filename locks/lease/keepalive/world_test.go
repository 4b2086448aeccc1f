package keepalive_test

import (
	"context"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// epoch is where the boot clocks of the tests start: not where Go's do.
const epoch clock.Instant = clock.Instant(1000 * time.Hour)

// A world is the true time of one test: that of its synctest bubble, which Go's
// timers follow, and all that was slept through in suspend, of which they know
// nothing.
type world struct {
	start time.Time

	mu    sync.Mutex
	slept time.Duration
}

// now is the true time since the start.
func (w *world) now() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.start) + w.slept
}

// suspend lets d pass without Go's timers.
func (w *world) suspend(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slept += d
}

// A skewed clock goes wrong by so many parts per million.
type skewed struct {
	w   *world
	ppm int64
}

func (c skewed) Now() clock.Instant { return c.at(c.w.now()) }

// at is what the clock shows at a true time.
func (c skewed) at(t time.Duration) clock.Instant {
	return epoch.Add(t + t/1e6*time.Duration(c.ppm) + t%1e6*time.Duration(c.ppm)/1e6)
}

// when is the true time, in nanoseconds, at which the clock shows i.
func (c skewed) when(i clock.Instant) float64 {
	return float64(i.Sub(epoch)) / (1 + float64(c.ppm)/1e6)
}

// A server keeps one lease by its own clock, and really ends it.
type server struct {
	clock skewed
	ttl   time.Duration
	lax   bool // renews a lease that has run out, as some servers do

	mu      sync.Mutex
	expiry  clock.Instant // 0: there is no lease
	lapsed  bool          // it ran out once: somebody else may have led since
	evicted bool          // an operator took it away
}

// grant starts the lease.
func (s *server) grant() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expiry = s.clock.Now().Add(s.ttl)
	return nil
}

func (s *server) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	switch {
	case s.expiry == 0:
		return locks.ErrNoLease
	case s.evicted, s.lapsed && !s.lax:
		return locks.ErrLost
	}
	s.expiry = s.clock.Now().Add(s.ttl)
	return nil
}

// look ends a lease that has run out.
func (s *server) look() {
	if s.expiry != 0 && s.clock.Now() >= s.expiry {
		s.lapsed = true
	}
}

func (s *server) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expiry = 0
	return nil
}

// evict takes the lease away.
func (s *server) evict() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evicted = true
	return locks.ErrLost
}

// promise forgets that the lease ran out before anybody was promised it: that
// the server renewed it later means that nobody else has led since.
func (s *server) promise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapsed = false
}

// ended reports that the lease has run out at some time, and when it will if
// it has not, in nanoseconds of true time.
func (s *server) ended() (lapsed bool, at float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s.lapsed, s.clock.when(s.expiry)
}

func (s *server) isEvicted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evicted
}

// A step is what becomes of one request. The zero step is answered at once.
type step struct {
	out, back  time.Duration // until the request arrives; until its answer does
	lost       bool          // the request vanishes
	unanswered bool          // the answer does: what was asked has been done
	err        error         // a proxy's answer; the server is not asked
	deaf       bool          // the call ignores its context
}

// silence is a server that is not there, or a helper that says nothing.
var silence = step{lost: true}

// run sends a request over the network, to be served there.
func (s step) run(ctx context.Context, network *sync.WaitGroup, serve func() error) error {
	answer := make(chan error, 1)
	network.Go(func() {
		time.Sleep(s.out)
		if s.lost {
			return
		}
		err := s.err
		if err == nil {
			err = serve()
		}
		if !s.unanswered {
			time.Sleep(s.back)
			answer <- err
		}
	})
	given := ctx.Done()
	if s.deaf {
		given = nil
	}
	select {
	case err := <-answer:
		return err
	case <-given:
		return ctx.Err()
	}
}
