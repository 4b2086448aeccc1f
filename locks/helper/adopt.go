package helper

import (
	"context"
	"fmt"

	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/program/threads"
)

// tasks is how many tasks a helper needs until it has all its threads. If it cannot have
// them, the Go runtime ends it with pages of text.
const tasks = 16

// A helper may be killed while its lock is fine: when memory is short, or by mistake.
// With the grant, the helper sent us everything by which the server knows the holder (a
// lease, a session, a nonce). Another helper that gets this when it opens the lock can
// continue the term. This extends no lease: we ask for each renewal as before, and the
// deadline stays the same.
//
// The same holds for a place in the queue: each report that the helper waits has what another
// needs to continue there. Without that, the place would wait on without us, be granted the lock
// in the end, and keep it from everybody until its lease ends.

// serving returns the session to use: the latest or, if that has ended and left a term
// behind, one with a replacement.
func (l *Lock) serving() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.at.Load()
	why := s.orphaned()
	if l.closed || why == nil {
		return s
	}
	if err := l.follow(s); err != nil {
		l.log.Debug("cannot start another helper", "err", err)
		return s // reports how it ended
	}
	l.log.Warn("the helper has ended; another one continues with the lock", "err", why)
	return l.at.Load()
}

// sendAgain sends a request that a session has refused to the one that has replaced it, if
// there is one.
func (l *Lock) sendAgain(ctx context.Context, r request, refused error) (*pending, error) {
	before := l.at.Load()
	if s := l.serving(); s != before {
		return s.send(ctx, r)
	}
	return nil, refused
}

// follow starts a helper that continues the term, or waits in the place, of another.
func (l *Lock) follow(before *session) error {
	path, err := l.programs.Find(l.scheme)
	if err != nil {
		return err
	}
	if free := threads.Free(); free < tasks {
		return fmt.Errorf("only %d more threads and processes are allowed", free)
	}
	before.stopWriting()
	var input *pipe // only that of a term may have been given to others
	if before.orphaned() != nil {
		input = before.process.input.reuse()
	} else {
		before.process.input.close()
	}
	p, err := startProcess(path, before.process.name, environment(), input)
	if err != nil {
		return err
	}
	s := l.newSession(p)
	l.open.Term, l.open.Place = before.handOver(s)
	return l.launch(s)
}

// resume continues an acquire, whose helper has ended, in the place that it had in the queue. It
// returns nil if that is impossible. A helper that has not waited itself has no place, so one
// that cannot work is not restarted forever.
func (l *Lock) resume(ctx context.Context, p *pending, pause *backoff.Backoff) *pending {
	s := l.at.Load()
	why := s.displaced()
	if why == nil || p.session != s || pause.Wait(ctx) != nil || !closedWithin(s.gone, killTimeout) {
		return nil
	}
	l.mu.Lock()
	err := errClosed
	if !l.closed {
		err = l.follow(s)
	}
	l.mu.Unlock()
	var next *pending
	if err == nil {
		next, err = l.at.Load().send(ctx, request{Method: methodAcquire})
	}
	if err != nil {
		l.log.Debug("cannot start another helper", "err", err)
		return nil
	}
	l.log.Warn("the helper has ended; another one continues to wait in its place", "err", why)
	return next
}

// displaced returns why a session ended that left a place in the queue behind, or nil.
func (s *session) displaced() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.place == "" || !s.wanted() {
		return nil
	}
	return s.err
}

// orphaned returns why a session ended that left a term behind, which another can continue, or
// nil.
func (s *session) orphaned() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grant == nil || s.grant.TTL == 0 || s.term == "" || !s.wanted() {
		return nil
	}
	return s.err
}

// stopWriting leaves the pipe to another session, after any write under way.
func (s *session) stopWriting() {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.over = true
}

// handOver makes next continue the term, and returns what its helper needs for that, or to
// continue in the place in the queue.
func (s *session) handOver(next *session) (term, place string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next.grant, next.term, next.settled, next.secrets = s.grant, s.term, s.settled, s.secrets
	return s.term, s.place
}
