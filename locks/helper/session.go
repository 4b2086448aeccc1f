package helper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// supervise reads the helper's messages until it has ended, and ends the session.
func (l *Lock) supervise(s *session) {
	defer close(s.gone)
	f := newForwarder(l.scheme, l.log, l.clean)
	logged := f.start(s.process.stderr)
	if err := s.read(s.process.stdout); !errors.Is(err, io.EOF) {
		s.fail(err)
	}
	if !closedWithin(s.process.exited, closeTimeout) {
		s.fail(fmt.Errorf("%s closed its output, but did not end", s.process.name))
		<-s.process.exited
	}
	closedWithin(logged, drainTimeout)
	s.fail(s.process.exitError(f.lastLines()))
	s.process.closeOutput()
	<-logged
	s.mu.Lock()
	served := s.served
	s.mu.Unlock()
	if served { // otherwise only the next request starts another, or a helper that cannot work would be restarted forever
		l.serving()
	}
}

// hurry ends the session unless hello arrives within the limit, and the answer to open
// within the limit and a moment more after that. It returns when open has been answered
// or the session has ended.
func (s *session) hurry(limit time.Duration) {
	switch {
	case !closedWithin(s.greeted, limit):
		s.fail(fmt.Errorf("leaderrun-%s did not send hello within %v", s.scheme, limit))
	case !closedWithin(s.ready, limit+withdrawTimeout):
		s.fail(fmt.Errorf("leaderrun-%s did not answer open", s.scheme))
	}
}

// takeEvent takes a message that is no answer; mu is held.
func (s *session) takeEvent(m *message) error {
	id, _ := strconv.ParseInt(string(m.ID), 10, 64)
	p := s.pending[id]
	switch {
	case m.Event == eventHello:
		return s.takeHello(m)
	case s.stage == started:
		return errors.New("something other than hello at the start")
	case m.Event == eventWaiting:
		return s.takeWaiting(p, m)
	case m.Event == eventLost:
		return s.takeLost(m)
	case m.Event == eventAsked:
		return s.takeAsked(m)
	case m.Event == eventListed && p != nil && p.method.name == methodList:
		return p.takePage(m.Page)
	case m.Event == eventListed:
		return errors.New("a part of a list that was not requested")
	case m.Event == eventChanged && p != nil && p.watch != nil:
		p.watch.notify()
		return nil
	case m.Event == eventChanged:
		return errors.New("a change of what is not watched")
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
	s.version = s.clean(locks.Cut(m.Version, maxVersion))
	close(s.greeted)
	return nil
}

func (s *session) takeWaiting(p *pending, m *message) error {
	switch {
	case p == nil || p.waiting == nil:
		return errors.New("waiting for something that was not requested")
	case m.Waiting == nil || !sane(m.Waiting.Status) || m.Waiting.Lease < 0 || m.Waiting.Lease > maxTTL || m.Waiting.Position < 0:
		return errors.New("waiting with invalid details")
	case len(m.Place) > locks.MaxRecord:
		return errors.New("a place that is too long")
	}
	s.place = m.Place
	workers.Replace(p.waiting, *m.Waiting)
	return nil
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

// takeAsked keeps the latest request to the holder.
func (s *session) takeAsked(m *message) error {
	switch {
	case s.grant == nil:
		return errors.New("a request to the holder of a lock that was not granted")
	case m.Text == nil || len(*m.Text) > locks.MaxRecord:
		return errors.New("a request to the holder with a text that is missing or too long")
	}
	workers.Replace(s.asked, []byte(*m.Text))
	return nil
}

func (s *session) fromWire(op string, w *wireError) error {
	where := s.where
	where.Op = verb(op)
	return fromWire(w, where, s.clean)
}

// The reasons why a session ends when nothing went wrong.
var (
	errReleased = errors.New("the lock was released")
	errClosed   = errors.New("the lock was closed")
)

// wanted reports whether the session has not ended for one of these; mu is held.
func (s *session) wanted() bool {
	return !errors.Is(s.err, errReleased) && !errors.Is(s.err, errClosed)
}

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
		p.finish()
		close(p.done)
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
	kept := s.grant != nil && s.wanted()
	s.mu.Unlock()
	if kept {
		s.kill()
	} else {
		_ = s.in.Close()
	}
	return true
}

// kill ends the helper.
func (s *session) kill() {
	if s.process != nil {
		s.process.kill()
	}
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

// refuse returns the error for a request that cannot be sent; mu is held.
func (s *session) refuse(p *pending) error {
	if p.method.long {
		s.texts.Leave()
	}
	if s.err == nil {
		return s.failed(p.method.name, locks.ErrUnavailable, fmt.Errorf("leaderrun-%s does not answer", s.scheme))
	}
	return s.failure(p.method.name)
}

// failure returns what a call returns once the session has ended.
func (s *session) failure(op string) error {
	if o, ok := errors.AsType[openFailure](s.err); ok {
		return o.error
	}
	class := locks.ErrUnavailable
	if op == methodSetRecord && errors.Is(s.err, errReleased) {
		class = locks.ErrLost
	}
	return s.failed(op, class, s.err)
}

// failed returns the error of a call.
func (s *session) failed(method string, class, err error) *locks.Error {
	where := s.where
	where.Op, where.Class, where.Err = verb(method), class, err
	return &where
}

// verb returns a method's name for errors.
func verb(method string) string { return strings.ReplaceAll(method, "_", " ") }

// opened waits until open has been answered, or never will be, or ctx ends.
func (l *Lock) opened(ctx context.Context) (*session, error) {
	s := l.serving()
	select {
	case <-s.ready:
	case <-ctx.Done():
		return s, s.failed(methodOpen, nil, ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != opened {
		return s, s.failure(methodOpen)
	}
	return s, nil
}
