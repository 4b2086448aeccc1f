package helper

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// do makes the call of the backend that a request asks for.
func (s *server) do(ctx context.Context, r *request) (*result, error) {
	switch r.Method {
	case methodOpen:
		return s.doOpen(ctx, r)
	case methodAcquire:
		return s.doAcquire(ctx, r)
	case methodRenew:
		return s.simple(ctx, s.renewing, s.renew)
	case methodRelease:
		return s.simple(ctx, s.releasing, s.release)
	case methodInspect:
		return s.inTurn(ctx, s.inspecting, s.inspect)
	case methodRecord:
		return s.inTurn(ctx, s.reading, s.record)
	case methodSetRecord:
		return s.simple(ctx, s.writing, s.setRecord(r.Text))
	case methodAsk:
		return s.simple(ctx, s.asking, s.ask(r.Token, r.Text))
	case methodList:
		return s.inTurn(ctx, s.listing, s.list(r))
	case methodWatch:
		return s.inTurn(ctx, s.looking, s.look(r))
	case methodBreak:
		return s.simple(ctx, s.breaking, s.breakTerm(r.Token))
	case methodProbe:
		return s.inTurn(ctx, s.probing, s.probe)
	case methodForget:
		return s.simple(ctx, s.forgetting, s.forget)
	}
	return nil, &locks.UsageError{What: "unknown method " + strconv.Quote(locks.Abbreviate(r.Method))}
}

func (s *server) doOpen(ctx context.Context, r *request) (*result, error) {
	u, o, err := s.options(r)
	if err == nil {
		s.reopen = func(ctx context.Context) (locks.Lock, error) { return s.open(ctx, u, o) }
		s.handle.lock, err = s.reopen(ctx)
	}
	var can []string
	if err == nil {
		can, err = offered(ctx, s.handle.lock)
	}
	res := &result{Can: can}
	if err == nil && r.Term != "" {
		res.handle, err = s.handle, s.adopt(r.Term)
	}
	s.openErr = err
	if err != nil {
		return nil, err
	}
	res.SecretEnv = locks.SecretEnv(s.handle.lock)
	return res, nil
}

// adopt goes on with a term that another helper was granted.
func (s *server) adopt(term string) error {
	a, ok := s.handle.lock.(locks.Adopter)
	if !ok {
		return cannot("go on with a term")
	}
	s.handle.begin()
	return a.Adopt(term)
}

// options checks what an open asks for.
func (s *server) options(r *request) (*url.URL, locks.Options, error) {
	usage := func(format string, args ...any) (*url.URL, locks.Options, error) {
		return nil, locks.Options{}, &locks.UsageError{What: fmt.Sprintf(format, args...)}
	}
	u, urlErr := url.Parse(r.URL)
	nameErr := locks.CheckSlotName(r.Name)
	switch {
	case r.Protocol != protocol:
		return usage("the core speaks protocol %d, this helper %d", r.Protocol, protocol)
	case urlErr != nil: // its text repeats the URL, and so a password
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

// simple makes a call that only succeeds or fails.
func (s *server) simple(ctx context.Context, t turn, method func(context.Context) error) (*result, error) {
	return s.inTurn(ctx, t, func(ctx context.Context) (*result, error) { return &result{}, method(ctx) })
}

// inTurn makes a call once the lock is open and no other of its kind goes on.
func (s *server) inTurn(ctx context.Context, t turn, method func(context.Context) (*result, error)) (*result, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if err := t.take(ctx); err != nil {
		return nil, err
	}
	defer t.leave()
	res, err := method(ctx)
	if err != nil {
		return nil, err
	}
	return res, nil
}

func (s *server) renew(ctx context.Context) error { return s.current().lock.Renew(ctx) }

func (s *server) release(ctx context.Context) error {
	h := s.current()
	if err := h.lock.Release(ctx); err != nil {
		return err
	}
	h.end()
	return nil
}

func (s *server) doAcquire(ctx context.Context, r *request) (*result, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.acquiring.take(ctx); err != nil {
		return nil, err
	}
	defer s.acquiring.leave()
	h, err := s.fresh(ctx)
	if err != nil {
		return nil, err
	}
	quiet := func() {}
	if !r.Try {
		quiet = s.reportWaiting(r)
	}
	g, err := h.lock.Acquire(ctx, r.Try)
	quiet()
	if err != nil {
		return nil, err
	}
	select {
	case <-s.ended: // nobody can have been told of the grant
		undo(h.lock, s.log)
		return nil, context.Canceled
	default:
		h.begin()
		res := &result{Token: g.Token, TTL: g.TTL, Clean: g.Clean, handle: h}
		if a, ok := h.lock.(locks.Adopter); ok {
			res.Term = a.Term()
		}
		return res, nil
	}
}

// undo gives up a lock that became ours after the core had gone.
func undo(lock locks.Lock, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), linger)
	defer cancel()
	if err := lock.Release(ctx); err != nil {
		log.Warn("release an unwanted lock", "err", err)
	}
}

// reportWaiting sends what the backend says about its waiting, until the
// function that it returns is called. A backend must not be held up by a core
// that does not read, so what is outdated before it is written is left out.
func (s *server) reportWaiting(r *request) (quiet func()) {
	waiting, done := make(chan locks.Waiting, 1), make(chan struct{})
	s.mu.Lock()
	s.waiting = waiting
	s.mu.Unlock()
	go func() {
		defer close(done)
		for w := range waiting {
			s.send(message{ID: r.ID, Event: eventWaiting, Waiting: &w})
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

// nowWaiting is what a backend calls as Options.Waiting.
func (s *server) nowWaiting(w locks.Waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		return
	}
	select {
	case <-s.waiting:
	default:
	}
	s.waiting <- fitWaiting(w)
}
