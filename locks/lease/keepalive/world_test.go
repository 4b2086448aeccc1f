package keepalive_test

import (
	"context"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// epoch is where the boot clocks of the tests start. It differs from where Go's clocks
// start.
const epoch clock.Instant = clock.Instant(1000 * time.Hour)

// A world is the true time of one test: the time of its synctest bubble, which Go's
// timers follow, plus all suspends, which they do not notice.
type world struct {
	start time.Time

	mu    sync.Mutex
	slept time.Duration
}

// now returns the true time since the start.
func (w *world) now() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.start) + w.slept
}

// suspend lets d pass, except for Go's timers.
func (w *world) suspend(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slept += d
}

// A skewed clock is wrong by a number of parts per million.
type skewed struct {
	w   *world
	ppm int64
}

func (c skewed) Now() clock.Instant { return c.at(c.w.now()) }

// at returns what the clock shows at a true time.
func (c skewed) at(t time.Duration) clock.Instant {
	return epoch.Add(t + t/1e6*time.Duration(c.ppm) + t%1e6*time.Duration(c.ppm)/1e6)
}

// when returns the true time, in nanoseconds, at which the clock shows i.
func (c skewed) when(i clock.Instant) float64 {
	return float64(i.Sub(epoch)) / (1 + float64(c.ppm)/1e6)
}

// A server keeps one lease by its own clock, and ends it.
type server struct {
	clock skewed
	ttl   time.Duration
	lax   bool // renews a lease that has ended, as some servers do

	mu      sync.Mutex
	expiry  clock.Instant // 0 if there is no lease
	lapsed  bool          // the lease ended once: somebody else may have led since
	evicted bool          // an operator took the lease away
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

// promise forgets that the lease ended before anybody relied on it. If the server renews
// it later, nobody else has led since.
func (s *server) promise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapsed = false
}

// ended reports whether the lease has ever ended and, if not, when it will, in
// nanoseconds of true time.
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

// A step is the outcome of one request. The zero step is answered at once.
type step struct {
	out, back  time.Duration // until the request arrives; until its answer does
	lost       bool          // the request vanishes
	unanswered bool          // the answer vanishes, but the request is done
	err        error         // a proxy's answer; the server is not asked
	deaf       bool          // the call ignores its context
}

// silence is a server that is unreachable, or a helper that sends nothing.
var silence = step{lost: true}

// run sends a request over the network to the server.
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
