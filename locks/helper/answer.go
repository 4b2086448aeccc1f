package helper

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

func answerOpen(ctx context.Context, c *call) (err error) {
	s := c.server
	u, o, err := s.options(c.request)
	if err != nil {
		return err
	}
	s.reopen = func(ctx context.Context) (locks.Lock, error) { return s.open(ctx, u, o) }
	s.secrets.set(u, nil)
	if c.handle.lock, err = s.reopen(ctx); err != nil {
		return err
	}
	s.secrets.set(u, c.handle.lock)
	if c.result.Can, err = offered(ctx, c.handle.lock); err != nil {
		return err
	}
	if c.Term != "" {
		if err := c.handle.adopt(c.Term); err != nil {
			return err
		}
		c.granted = c.handle
	}
	if c.Place != "" {
		if err := c.handle.resume(c.Place); err != nil {
			return err
		}
	}
	c.result.SecretEnv, c.result.Location = locks.SecretEnv(c.handle.lock), locks.Location(ctx, c.handle.lock)
	return nil
}

// adopt continues a term that another helper was granted.
func (h *handle) adopt(term string) error {
	a, ok := h.lock.(locks.Adopter)
	if !ok {
		return cannot("continue a term")
	}
	h.begin()
	return a.Adopt(term)
}

// resume continues to wait where another helper did, once the lock is acquired.
func (h *handle) resume(place string) error {
	p, ok := h.lock.(locks.Placer)
	if !ok {
		return cannot("continue in a place")
	}
	return p.Resume(place)
}

// options checks and returns what an open asks for.
func (s *server) options(r *request) (*url.URL, locks.Options, error) {
	usage := func(format string, args ...any) (*url.URL, locks.Options, error) {
		return nil, locks.Options{}, &locks.UsageError{What: fmt.Sprintf(format, args...)}
	}
	u, urlErr := locks.ParseURL(r.URL)
	nameErr := locks.CheckSlotName(r.Name)
	switch {
	case r.Protocol != protocol:
		return usage("the core speaks protocol %d, this helper %d", r.Protocol, protocol)
	case urlErr != nil: // its text repeats the URL, with a password
		return usage("malformed URL")
	case u.Scheme != s.scheme:
		return usage("this helper serves %s, not %q", s.scheme, locks.Abbreviate(u.Scheme))
	case nameErr != nil:
		return nil, locks.Options{}, nameErr
	case r.TTL <= 0 || r.TTL > 24*time.Hour:
		return usage("a ttl of %v is not in (0, 24h]", r.TTL)
	case r.ConnectTimeout <= 0 || r.ConnectTimeout > time.Hour:
		return usage("a connect timeout of %v is not in (0, 1h]", r.ConnectTimeout)
	case r.Priority < -locks.MaxPriority || r.Priority > locks.MaxPriority:
		return usage("a priority of %d is not in [%d, %d]", r.Priority, -locks.MaxPriority, locks.MaxPriority)
	case r.PID < 0:
		return usage("a process id of %d", r.PID)
	case r.LogLevel != "" && s.level.UnmarshalText([]byte(r.LogLevel)) != nil:
		return usage("unknown log level")
	}
	return u, locks.Options{
		Name:           r.Name,
		Holder:         r.Holder,
		TTL:            r.TTL,
		ConnectTimeout: r.ConnectTimeout,
		Version:        r.Version,
		RunID:          r.RunID,
		Priority:       r.Priority,
		NoResign:       r.NoResign,
		Advertise:      r.Advertise,
		PID:            r.PID,
		Logger:         s.log,
		Waiting:        s.nowWaiting,
	}, nil
}

// ready waits until the lock is open.
func (s *server) ready(ctx context.Context) error {
	select {
	case <-s.opened:
		return s.openErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

func answerRelease(ctx context.Context, l locks.Lock, c *call) error {
	if c.Timeout == 0 { // a guard requests it, and the input ends
		limited, cancel := context.WithTimeout(ctx, linger)
		defer cancel()
		ctx = limited
	}
	if err := l.Release(ctx); err != nil {
		return err
	}
	c.handle.end()
	return nil
}

func answerAcquire(ctx context.Context, c *call) error {
	s := c.server
	h, err := s.fresh(ctx)
	if err != nil {
		return err
	}
	quiet := func() {}
	if !c.Try {
		quiet = c.reportWaiting()
	}
	g, err := h.lock.Acquire(ctx, c.Try)
	quiet()
	if err != nil {
		return err
	}
	select {
	case <-s.ended: // the core cannot have received the grant
		undo(h.lock, s.log)
		return context.Canceled
	default:
		h.begin()
		c.granted = h
		c.result.Token, c.result.TTL, c.result.Clean = g.Token, g.TTL, g.Clean
		if a, ok := h.lock.(locks.Adopter); ok {
			c.result.Term = a.Term()
		}
		return nil
	}
}

// undo gives up a lock that became ours after the core was gone.
func undo(lock locks.Lock, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), linger)
	defer cancel()
	if err := lock.Release(ctx); err != nil {
		log.Warn("release an unwanted lock", "err", err)
	}
}

// reportWaiting sends what the backend reports while it waits, until the returned
// function is called. A core that does not read must not block the backend, so a report
// that is outdated before it is written is dropped.
func (c *call) reportWaiting() (quiet func()) {
	s := c.server
	waiting, done := make(chan message, 1), make(chan struct{})
	s.mu.Lock()
	s.waiting = waiting
	s.mu.Unlock()
	go func() {
		defer close(done)
		for m := range waiting {
			c.say(m)
		}
	}()
	return func() {
		s.mu.Lock()
		s.waiting = nil
		close(waiting)
		s.mu.Unlock()
		<-done
	}
}

// nowWaiting is the backend's Options.Waiting.
func (s *server) nowWaiting(w locks.Waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		return
	}
	w = fitWaiting(w)
	m := message{Event: eventWaiting, Waiting: &w}
	if p, ok := s.handle.lock.(locks.Placer); ok {
		m.Place = p.Place()
	}
	replace(s.waiting, m)
}
