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

// A helper may be killed while its lock is fine: when memory is short, or by mistake. Or it hangs,
// and we kill it.
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
	term, why := s.left()
	if l.closed || !term || why == nil {
		return s
	}
	if err := l.follow(s); err != nil {
		l.log.Debug("cannot start another helper", "err", err)
		return s // reports how it ended
	}
	l.log.Warn("the helper has ended; another one continues with the lock", "err", why)
	return l.at.Load()
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
	if term, _ := before.left(); term {
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
	term, why := s.left()
	if term || why == nil || p.session != s || pause.Wait(ctx) != nil || !closedWithin(s.gone, killTimeout) {
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

// left reports whether a session that has ended, and why, left a term behind that another can
// continue, or a place in the queue. Otherwise why is nil.
func (s *session) left() (term bool, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	term, place := s.leaves()
	if s.wanted() && (term || place) {
		why = s.err
	}
	return term, why
}

// leaves reports whether another session can continue the term, or the place; mu is held.
func (s *session) leaves() (term, place bool) {
	return s.grant != nil && s.grant.TTL > 0 && s.term != "", s.place != ""
}

// endIfHung ends a session whose helper has not even answered that a renewal was given up, if
// another helper can continue. A helper whose server is slow does answer that.
func (s *session) endIfHung(p *pending) {
	s.mu.Lock()
	term, place := s.leaves()
	hung := !isClosed(p.done) && !s.settled && (term || place)
	s.mu.Unlock()
	if hung {
		s.fail(fmt.Errorf("%s%s did not answer a cancelled renew", prefix, s.scheme))
	}
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
