package helper

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/leaderrun/leaderrun/locks"
)

// take checks a message from the helper and passes it to the caller that waits for it. An
// error is a violation of the protocol.
func (s *session) take(m *message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err // messages after the end are ignored
	}
	if s.stage == started && m.Event != eventHello {
		return errors.New("something other than hello at the start")
	}
	switch m.Event {
	case "":
		return s.takeAnswer(m)
	case eventHello:
		return s.takeHello(m)
	case eventWaiting:
		return s.takeWaiting(m)
	case eventLost:
		return s.takeLost(m)
	case eventAsked:
		return s.takeAsked(m)
	case eventListed:
		return s.takeListed(m)
	case eventChanged:
		return s.takeChanged(m)
	}
	return errors.New("an unknown event")
}

// maxVersion is how many bytes of the version in a hello are kept.
const maxVersion = 128

func (s *session) takeHello(m *message) error {
	switch {
	case s.stage != started:
		return errors.New("a second hello")
	case !slices.Contains(m.Protocol, protocol):
		return fmt.Errorf("it does not speak protocol %d; install core and helper of the same version", protocol)
	case m.Scheme != s.scheme:
		return errors.New("a hello for another scheme")
	}
	s.stage = greeted
	s.version = s.clean(cut(m.Version, maxVersion))
	close(s.greeted)
	return nil
}

func (s *session) takeWaiting(m *message) error {
	p := s.find(m)
	switch {
	case p == nil || p.method.name != methodAcquire || p.try:
		return errors.New("waiting for something that was not requested")
	case m.Waiting == nil || !sane(m.Waiting):
		return errors.New("waiting with invalid details")
	case len(m.Place) > locks.MaxRecord:
		return errors.New("a place that is too long")
	}
	s.place = m.Place
	replace(p.waiting, *m.Waiting)
	return nil
}

// sane reports whether the numbers are valid.
func sane(w *locks.Waiting) bool {
	s := w.Status
	return w.Lease >= 0 && w.Lease <= maxTTL && w.Position >= 0 && s.PID >= 0 && min(s.TTL, s.Confirm) >= 0 && s.Waiters >= 0 &&
		s.Start == fitStart(s.Start)
}

func (s *session) takeLost(m *message) error {
	switch {
	case s.grant == nil:
		return errors.New("the loss of a lock that was not granted")
	case m.Error == nil:
		return errors.New("a loss without an error")
	}
	m.Error.Class = "lost"
	s.lose(s.fromWire("watch", m.Error))
	return nil
}

func (s *session) takeAnswer(m *message) error {
	p := s.find(m)
	switch {
	case p == nil:
		return errors.New("an answer to no request")
	case (m.Result == nil) == (m.Error == nil):
		return errors.New("an answer that is not either a result or an error")
	case m.Error != nil && m.Error.Status != nil && !sane(&locks.Waiting{Status: *m.Error.Status}):
		return errors.New("an invalid status")
	}
	if p.method.name == methodAcquire {
		s.place = ""
	}
	if m.Error != nil {
		p.err = s.fromWire(p.method.name, m.Error)
	} else if err := p.takeResult(m.Result); err != nil {
		return err
	}
	if p.gaveUp && p.method.name == methodRenew && errors.Is(p.err, locks.ErrLost) {
		s.lose(p.err) // no other call would report it
	}
	delete(s.pending, p.id)
	s.answered(p)
	if p.method.name == methodOpen && p.err != nil {
		return openFailure{p.err}
	}
	return nil
}

func (p *pending) takeResult(r *result) error {
	if p.method.name != methodOpen && p.session.stage != opened {
		return errors.New("success before open was answered")
	}
	if p.method.take != nil {
		if err := p.method.take(p, r); err != nil {
			return err
		}
	}
	p.result = *r
	return nil
}

func (p *pending) takeRenewal(*result) error {
	p.session.served = true
	return nil
}

func (p *pending) takeGrant(r *result) error {
	s := p.session
	switch {
	case s.grant != nil:
		return errors.New("a second grant")
	case r.Token == 0:
		return errors.New("a grant without a token")
	case r.TTL < 0 || r.TTL > maxTTL:
		return errors.New("a ttl out of range")
	case len(r.Term) > locks.MaxRecord:
		return errors.New("a term that is too long")
	}
	s.grant, s.term, s.served = r.grant(), r.Term, true
	return nil
}

func (p *pending) takeOpened(r *result) error {
	s := p.session
	if len(r.SecretEnv) > 64 {
		return errors.New("more than 64 secret variables")
	}
	for _, name := range r.SecretEnv {
		if name == "" || len(name) > 128 || strings.ContainsAny(name, "=\x00") {
			return errors.New("a secret variable with an invalid name")
		}
	}
	if len(r.Can) > 64 {
		return errors.New("more than 64 abilities")
	}
	if len(r.Location) > locks.MaxLocation {
		return errors.New("a location that is too long")
	}
	s.stage = opened
	s.secrets, s.can, s.location = r.SecretEnv, s.methods.abilities(r.Can), r.Location
	close(s.ready)
	return nil
}

// find returns the request that a message is about, or nil if there is none.
func (s *session) find(m *message) *pending {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return nil
	}
	return s.pending[id]
}

func (s *session) fromWire(op string, w *wireError) error {
	where := s.where
	where.Op = verb(op)
	return fromWire(w, where, s.clean)
}
