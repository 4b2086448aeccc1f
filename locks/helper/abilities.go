package helper

import (
	"context"
	"errors"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// Abilities implements locks.Able.
func (l *Lock) Abilities(ctx context.Context) ([]locks.Ability, error) {
	s := l.serving().session
	select {
	case <-s.ready:
		return s.abilities()
	case <-ctx.Done():
		return nil, l.over(ctx, methodOpen)
	}
}

// Location implements locks.Located.
func (l *Lock) Location(ctx context.Context) string {
	s := l.serving().session
	select {
	case <-s.ready:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clean(s.location)
}

// Version returns the version that the helper reported, even if it could not open the
// lock. It blocks until the helper has answered, or ctx ends.
func (l *Lock) Version(ctx context.Context) (string, error) {
	s := l.last().session
	select {
	case <-s.ready:
		return s.greeting()
	case <-ctx.Done():
		return "", l.over(ctx, methodOpen)
	}
}

// Break implements locks.Breaker.
func (l *Lock) Break(ctx context.Context, token uint64) error {
	return l.do(ctx, request{Method: methodBreak, Token: token})
}

// Forget implements locks.Forgetter.
func (l *Lock) Forget(ctx context.Context) error {
	return l.do(ctx, request{Method: methodForget})
}

// abilities returns those from the answer to open.
func (s *session) abilities() ([]locks.Ability, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != opened {
		return nil, s.failure(methodOpen)
	}
	return slices.Clone(s.can), nil
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

func (s *session) isReleased() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Is(s.err, errReleased)
}

var (
	_ locks.Able      = (*Lock)(nil)
	_ locks.Located   = (*Lock)(nil)
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Recorder  = (*Lock)(nil)
	_ locks.Asker     = (*Lock)(nil)
	_ locks.Lister    = (*Lock)(nil)
	_ locks.Watcher   = (*Lock)(nil)
	_ locks.Breaker   = (*Lock)(nil)
	_ locks.Prober    = (*Lock)(nil)
	_ locks.Forgetter = (*Lock)(nil)
)
