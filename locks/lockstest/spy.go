package lockstest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lease/keepalive"
)

// A spy stands between a lease and its lock. It notes when requests were sent, and holds
// back or loses the replies.
type spy struct {
	locks.Lock
	e     *env
	delay time.Duration // of each reply

	mu      sync.Mutex
	sent    clock.Instant // when the last acknowledged request was sent
	renewed int           // calls of Renew
	lose    bool          // lose the replies to Renew
}

var errReplyLost = errors.New("the spy lost the reply")

func (s *spy) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	sent := s.e.now()
	g, err := s.Lock.Acquire(ctx, try)
	pause(s.delay)
	s.note(sent, err)
	return g, err
}

func (s *spy) Renew(ctx context.Context) error {
	s.mu.Lock()
	s.renewed++
	s.mu.Unlock()
	sent := s.e.now()
	err := s.Lock.Renew(ctx)
	pause(s.delay)
	if s.losing() {
		err = errors.Join(errReplyLost, err)
	}
	s.note(sent, err)
	return err
}

func (s *spy) note(sent clock.Instant, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.sent = max(s.sent, sent)
	}
}

func (s *spy) losing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lose
}

func (s *spy) loseReplies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = true
}

func (s *spy) renewals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewed
}

// bound returns the latest deadline that the acknowledged requests allow. The lease
// stamps its requests before the spy does.
func (s *spy) bound(ttl time.Duration) clock.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.Add(keepalive.Trusted(ttl))
}
