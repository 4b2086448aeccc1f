package helper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// maxURL is the longest URL that is passed to a helper, in bytes.
const maxURL = 8 << 10

// defaultConnectTimeout is used if no ConnectTimeout is set.
const defaultConnectTimeout = 5 * time.Second

// open starts a helper and tells it to open the backend. It does not wait for the answer:
// Acquire reports any error.
func (p *Programs) open(path string, u *url.URL, o locks.Options) (*Lock, error) {
	if len(u.String()) > maxURL {
		return nil, &locks.UsageError{What: fmt.Sprintf("the backend URL is longer than %d bytes", maxURL)}
	}
	where := locks.Error{Op: "open", Backend: address(u), Name: o.Name}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = defaultConnectTimeout
	}
	if o.PID == 0 {
		o.PID = os.Getpid() // the lock is ours, not the helper's
	}
	if o.Waiting == nil {
		o.Waiting = func(locks.Waiting) {}
	}
	proc, err := p.start(path, u.Scheme)
	if err != nil {
		where.Class, where.Err = locks.ErrUnavailable, fmt.Errorf("start the helper program: %w", err)
		return nil, &where
	}
	l := &Lock{
		programs: p, scheme: u.Scheme, open: openRequest(u.String(), o, level(o.Logger)), where: where, clean: cleaner(u),
		log: o.Logger, report: o.Waiting, lost: make(chan error, 1), asked: make(chan []byte, 1),
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if err := l.launch(l.newSession(proc)); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// newSession makes a session with a helper that has not said anything yet.
func (l *Lock) newSession(p *process) *session {
	s := newSession(l.scheme, l.where, p.input.w)
	s.process, s.clean, s.lost, s.asked = p, l.clean, l.lost, l.asked
	return s
}

// launch tells a started helper to open the backend, and does not wait for the answer.
// The caller holds l.mu, or is the only user of the Lock.
func (l *Lock) launch(s *session) error {
	l.at.Store(s)
	go s.hurry(l.open.ConnectTimeout)
	go l.supervise(s)
	_, err := s.send(context.Background(), l.open)
	return err
}

func openRequest(url string, o locks.Options, level string) request {
	return request{
		Method:         methodOpen,
		Timeout:        o.ConnectTimeout,
		Protocol:       protocol,
		URL:            url,
		Name:           o.Name,
		Holder:         locks.Cut(o.Holder, maxText),
		TTL:            o.TTL,
		ConnectTimeout: o.ConnectTimeout,
		Version:        o.Version,
		RunID:          locks.Cut(o.RunID, maxText),
		LogLevel:       level,
		Priority:       o.Priority,
		NoResign:       o.NoResign,
		Advertise:      o.Advertise,
		PID:            o.PID,
	}
}

// address is the backend's name in messages: no user, password or parameter.
func address(u *url.URL) string {
	if u.Host == "" {
		return u.Scheme
	}
	return u.Scheme + "://" + u.Host
}

// cleaner returns a function that makes a helper's text fit to be shown: on one line, and
// without the password that the helper was given.
func cleaner(u *url.URL) func(string) string {
	password, ok := u.User.Password()
	if !ok || password == "" {
		return plain
	}
	_, escaped, _ := strings.Cut(u.User.String(), ":")
	hide := strings.NewReplacer(password, "xxxxx", escaped, "xxxxx")
	return func(s string) string { return plain(hide.Replace(s)) }
}

// level returns the lowest level that log accepts.
func level(log *slog.Logger) string {
	if log != nil {
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn} {
			if log.Enabled(context.Background(), level) {
				return strings.ToLower(level.String())
			}
		}
	}
	return "error"
}

func takeOpened(p *pending, r *result) error {
	s := p.session
	for _, name := range r.SecretEnv {
		if name == "" || len(name) > 128 || strings.ContainsAny(name, "=\x00") {
			return errors.New("a secret variable with an invalid name")
		}
	}
	switch {
	case len(r.SecretEnv) > 64:
		return errors.New("more than 64 secret variables")
	case len(r.Can) > 64:
		return errors.New("more than 64 abilities")
	case len(r.Location) > locks.MaxLocation:
		return errors.New("a location that is too long")
	}
	s.stage, s.secrets, s.can, s.location = opened, r.SecretEnv, offered(r.Can, nil), r.Location
	close(s.ready)
	return nil
}

// Location implements locks.Located.
func (l *Lock) Location(ctx context.Context) string {
	s, _ := l.opened(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clean(s.location)
}

// Version returns the version that the helper reported, even if it could not open the
// lock. It blocks until the helper has answered, or ctx ends.
func (l *Lock) Version(ctx context.Context) (string, error) {
	s, err := l.opened(ctx)
	if err != nil && ctx.Err() != nil {
		return "", err
	}
	return s.greeting()
}

// greeting returns the version from hello, or the reason why there was no hello.
func (s *session) greeting() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == started {
		return "", s.failure(methodOpen)
	}
	return s.version, nil
}

// SecretEnv implements locks.SecretReader.
func (l *Lock) SecretEnv() []string {
	s := l.at.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets
}

func serveOpen(ctx context.Context, c *call) error {
	s := c.server
	u, o, err := s.options(&c.request)
	if err != nil {
		return err
	}
	s.secrets.set(u, nil)
	if s.lock, err = s.open(ctx, u, o); err != nil {
		return err
	}
	s.secrets.set(u, s.lock)
	if able, ok := s.lock.(locks.Able); ok {
		declared, err := able.Abilities(ctx)
		if err != nil {
			return err
		}
		c.result.Can = offered(declared, s.lock)
	}
	if c.Term != "" {
		a, ok := s.lock.(locks.Adopter)
		if !ok {
			return cannot("continue a term")
		}
		if err := a.Adopt(c.Term); err != nil {
			return err
		}
		c.grant()
	}
	if c.Place != "" {
		p, ok := s.lock.(locks.Placer)
		if !ok {
			return cannot("continue in a place")
		}
		if err := p.Resume(c.Place); err != nil {
			return err
		}
	}
	c.result.SecretEnv, c.result.Location = locks.SecretEnv(s.lock), locks.Location(ctx, s.lock)
	return nil
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
