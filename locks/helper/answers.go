package helper

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// An answer is the helper's end of a method: it calls the backend and sets the result. It
// is never called concurrently with itself.
type answer struct {
	has  func(locks.Lock) bool // whether a backend has the method; nil if each has it
	call func(context.Context, *call) error
}

// answers returns the answer to each method, by name.
func answers() map[string]answer {
	return map[string]answer{
		methodOpen:    {call: answerOpen},
		methodAcquire: {call: answerAcquire},
		methodRelease: of(answerRelease),
		methodInspect: of(answerInspect),
		methodRecord:  of(answerRecord),
		methodList:    of(answerList),
		methodWatch:   of(answerWatch),
		methodProbe:   of(answerProbe),

		methodRenew:  of(func(ctx context.Context, l locks.Lock, _ *call) error { return l.Renew(ctx) }),
		methodBreak:  of(func(ctx context.Context, b locks.Breaker, c *call) error { return b.Break(ctx, c.Token) }),
		methodForget: of(func(ctx context.Context, f locks.Forgetter, _ *call) error { return f.Forget(ctx) }),
		methodSetRecord: of(func(ctx context.Context, r locks.Recorder, c *call) error {
			return r.SetRecord(ctx, []byte(c.Text))
		}),
		methodAsk: of(func(ctx context.Context, a locks.Asker, c *call) error {
			return a.Ask(ctx, c.Token, []byte(c.Text))
		}),
	}
}

// of makes the answer for backends that are a T.
func of[T any](ask func(context.Context, T, *call) error) answer {
	return answer{
		has:  func(l locks.Lock) bool { _, ok := l.(T); return ok },
		call: func(ctx context.Context, c *call) error { return ask(ctx, c.handle.lock.(T), c) },
	}
}

// do makes the call of the backend that a request asks for, once the lock is open and no
// other call of the same method is under way. Open itself always runs.
func (s *server) do(ctx context.Context, c *call) error {
	m := s.methods.named(c.Method)
	if m == nil {
		return &locks.UsageError{What: "unknown method " + strconv.Quote(locks.Abbreviate(c.Method))}
	}
	if m.name != methodOpen {
		if err := s.ready(ctx); err != nil {
			return err
		}
		if err := s.turns[m.name].take(ctx); err != nil {
			return err
		}
		defer s.turns[m.name].leave()
	}
	c.handle = s.current()
	a := s.answers[m.name]
	if a.has != nil && !a.has(c.handle.lock) {
		return cannot(string(m.can))
	}
	if err := m.allows(c.request); err != nil {
		return err
	}
	return a.call(ctx, c)
}

// offered returns the abilities that a backend declares and has methods for.
func offered(ctx context.Context, l locks.Lock) ([]locks.Ability, error) {
	able, ok := l.(locks.Able)
	if !ok {
		return nil, nil
	}
	declared, err := able.Abilities(ctx)
	if err != nil {
		return nil, err
	}
	its, has := methods(), answers()
	its = slices.DeleteFunc(its, func(m method) bool { return m.can != "" && !has[m.name].has(l) })
	return its.abilities(declared), nil
}

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
