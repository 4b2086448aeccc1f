package helper

import (
	"context"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// linger bounds how long a helper may continue after its input has ended, to finish a
// release and to leave the queue.
const linger = 5 * time.Second

func serveAcquire(ctx context.Context, c *call) error {
	s := c.server
	if s.granted.Load() {
		return &locks.UsageError{What: "the lock was already granted"}
	}
	g, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	if isClosed(s.ended) { // the core cannot have received the grant
		ctx, cancel := context.WithTimeout(context.Background(), linger)
		defer cancel()
		if err := s.lock.Release(ctx); err != nil {
			s.log.Warn("release an unwanted lock", "err", err)
		}
		return context.Canceled
	}
	c.grant()
	c.result.Token, c.result.TTL, c.result.Clean = g.Token, g.TTL, g.Clean
	if a, ok := s.lock.(locks.Adopter); ok {
		c.result.Term = a.Term()
	}
	return nil
}

// acquire calls the backend, and sends what it reports meanwhile, unless it only tries.
func (c *call) acquire(ctx context.Context) (g locks.Grant, err error) {
	s := c.server
	done := make(chan struct{})
	go func() {
		defer close(done)
		g, err = s.lock.Acquire(ctx, c.Try)
	}()
	report := func(m message) {
		if m.ID = c.ID; !c.Try {
			s.out.write(m)
		}
	}
	for {
		select {
		case m := <-s.waiting:
			report(m)
			continue
		case <-done:
		}
		select {
		case m := <-s.waiting:
			report(m)
		default:
		}
		return g, err
	}
}

func serveRelease(ctx context.Context, c *call) error {
	if c.Timeout == 0 { // a guard requests it, and the input ends
		limited, cancel := context.WithTimeout(ctx, linger)
		defer cancel()
		ctx = limited
	}
	err := c.server.lock.Release(ctx)
	if err == nil {
		c.server.endTerm()
	}
	return err
}

// grant notes that the call has made the lock ours.
func (c *call) grant() {
	c.server.granted.Store(true)
	c.granted = true
}

// endTerm is called after each release.
func (s *server) endTerm() {
	s.term.Lock()
	defer s.term.Unlock()
	if s.granted.Load() && !isClosed(s.released) {
		close(s.released)
	}
}

// serveRenew has requests to the holder passed on before it answers that the lock is lost: the
// last may say who took it away, and why.
func serveRenew(ctx context.Context, c *call) error {
	s := c.server
	err := s.lock.Renew(ctx)
	if errors.Is(err, locks.ErrLost) && s.granted.Load() {
		select {
		case s.losing <- struct{}{}:
			<-s.losing
		case <-s.watched:
		}
	}
	return err
}

// watch reports the loss of a granted lock and, until then, requests to its holder.
func (s *server) watch() {
	defer close(s.watched)
	var asked <-chan []byte
	if a, ok := s.lock.(locks.Asker); ok {
		asked = a.Asked()
	}
	last := func() {
		select {
		case text := <-asked:
			s.passOn(text)
		default:
		}
	}
	for {
		select {
		case <-s.losing:
			last()
			s.losing <- struct{}{}
		case err := <-s.lock.Lost():
			last()
			s.report(message{Event: eventLost, Error: toWire(err, s.secrets.hider())})
			return
		case text := <-asked:
			s.passOn(text)
		case <-s.released:
			return
		case <-s.ended:
			return
		}
	}
}

// passOn reports a request to the holder, unless no Ask can have left it.
func (s *server) passOn(text []byte) {
	if len(text) > locks.MaxRecord || !utf8.Valid(text) {
		s.log.Debug("ignored an invalid request to the holder", "bytes", len(text))
		return
	}
	request := string(text)
	s.report(message{Event: eventAsked, Text: &request})
}

// report sends an event about a term that is not over. The answer to a release does not
// overtake it.
func (s *server) report(m message) {
	s.term.Lock()
	defer s.term.Unlock()
	if !isClosed(s.released) {
		s.out.write(m)
	}
}

// nowWaiting is the backend's Options.Waiting. A core that does not read must not block the
// backend, so a report that is outdated before it is written is dropped.
func (s *server) nowWaiting(w locks.Waiting) {
	w.Status = fitStatus(w.Status)
	m := message{Event: eventWaiting, Waiting: &w}
	if p, ok := s.lock.(locks.Placer); ok {
		m.Place = p.Place()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	workers.Replace(s.waiting, m)
}
