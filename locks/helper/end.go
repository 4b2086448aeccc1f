package helper

import (
	"errors"

	"github.com/leaderrun/leaderrun/locks"
)

// The reasons why a session ends when nothing went wrong.
var (
	errReleased = errors.New("the lock was released")
	errClosed   = errors.New("the lock was closed")
)

// fail ends the session and the helper.
func (s *session) fail(err error) {
	if s.end(err) {
		s.kill()
	}
}

// end ends the session: pending and later calls return err. It reports whether this was
// what ended the session.
func (s *session) end(err error) bool {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return false
	}
	s.err = err
	for id, p := range s.pending {
		delete(s.pending, id)
		s.doubt = s.doubt || p.method.name == methodAcquire && !errors.As(err, new(openFailure))
		p.err = s.failure(p.method.name)
		s.answered(p)
	}
	if s.stage == started {
		close(s.greeted)
	}
	if s.stage != opened {
		close(s.ready)
	}
	if s.grant != nil && s.grant.TTL == 0 && !errors.Is(err, errClosed) {
		// A lock without a lease lasts as long as its helper, and no deadline would ever
		// reveal the loss.
		s.lose(&remoteError{class: locks.ErrLost, text: err.Error()})
	}
	// We keep our end of the pipe if the next helper reads what this one has not, or if the
	// guard of a job that is about to start gets it.
	kept := s.hasTerm() || s.grant != nil && !errors.Is(err, errReleased) && !errors.Is(err, errClosed)
	s.mu.Unlock()
	if kept {
		s.kill()
	} else {
		_ = s.in.Close()
	}
	return true
}

// settle is called before a release: from now on a loss of the lock is not reported. It
// reports whether there is certainly nothing to release.
func (s *session) settle() (nothing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grant != nil {
		s.settled = true
		return errors.Is(s.err, errReleased)
	}
	return s.err != nil && !s.doubt
}

// released ends a session after its release.
func (s *session) released() {
	s.mu.Lock()
	had := s.grant != nil
	s.mu.Unlock()
	if had {
		s.end(errReleased)
	}
}

// forget is called after a term whose grant was not delivered: the next acquire may begin
// another term.
func (s *session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grant, s.term, s.settled = nil, "", false
	drain(s.asked)
	drain(s.lost) // it was lost before it was given back
}

// lose reports the loss of the lock; mu is held.
func (s *session) lose(err error) {
	if !s.settled {
		s.settled = true
		s.lost <- err
	}
}

// An openFailure ends a session whose open failed. Each call then returns that error as
// the backend made it.
type openFailure struct{ error }

// failure returns what a call returns once the session has ended.
func (s *session) failure(op string) error {
	var o openFailure
	if errors.As(s.err, &o) {
		return o.error
	}
	return s.unavailable(op, s.err)
}

func (s *session) unavailable(op string, err error) error {
	return failed(s.where, op, locks.ErrUnavailable, err)
}
