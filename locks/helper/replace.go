package helper

import (
	"context"
	"errors"
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

// serving returns the instance to ask: the latest, or, if that has ended and left a term
// behind, a replacement.
func (l *Lock) serving() *instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	why := l.at.session.orphaned()
	if l.closed || why == nil {
		return l.at
	}
	if err := l.follow(l.at); err != nil {
		l.log.Debug("cannot start another helper", "err", err)
		return l.at // reports how it ended
	}
	l.log.Warn("the helper has ended; another one continues with the lock", "err", why)
	return l.at
}

// follow starts an instance that continues the term of another.
func (l *Lock) follow(before *instance) error {
	path, err := l.programs.Find(l.scheme)
	if err != nil {
		return err
	}
	if free := threads.Free(); free < tasks {
		return fmt.Errorf("only %d more threads and processes are allowed", free)
	}
	before.session.stopWriting()
	p, err := startProcess(path, before.process.name, environment(), before.leave())
	if err != nil {
		return err
	}
	s := l.newSession(p)
	l.open.Term, l.open.Place = before.session.handOver(s)
	return l.launch(p, s)
}

// leave returns the pipe from which the next helper reads. Only that of a term may have been
// given to others.
func (in *instance) leave() *pipe {
	if in.session.orphaned() != nil {
		return in.process.input.reuse()
	}
	in.process.input.close()
	return nil
}

// resume continues an acquire, whose helper has ended, in the place that it had in the queue. It
// returns nil if that is impossible. A helper that has not waited itself has no place, so one
// that cannot work is not restarted forever.
func (l *Lock) resume(ctx context.Context, p *pending, pause *backoff.Backoff) *pending {
	in := l.last()
	why := in.session.displaced()
	if why == nil || p.session != in.session || pause.Wait(ctx) != nil || !closedWithin(in.gone, killTimeout) {
		return nil
	}
	l.mu.Lock()
	err := errClosed
	if !l.closed {
		err = l.follow(in)
	}
	l.mu.Unlock()
	var next *pending
	if err == nil {
		next, err = l.begin(ctx, request{Method: methodAcquire})
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
	if s.place == "" || errors.Is(s.err, errReleased) || errors.Is(s.err, errClosed) {
		return nil
	}
	return s.err
}

// orphaned returns why a session ended that left a term behind, or nil.
func (s *session) orphaned() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasTerm() {
		return nil
	}
	return s.err
}

// hasTerm reports whether there is a term that another session can continue; mu is held.
func (s *session) hasTerm() bool {
	return s.grant != nil && s.grant.TTL > 0 && s.term != "" && !errors.Is(s.err, errReleased) && !errors.Is(s.err, errClosed)
}

// hasServed reports whether the helper has done its work at least once.
func (s *session) hasServed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// stopWriting leaves the pipe to another session, after any write under way.
func (s *session) stopWriting() {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	s.over = true
}

// handOver makes next continue the term, and returns what its helper needs for that, or to
// continue in the place in the queue.
func (s *session) handOver(next *session) (term, place string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next.grant, next.term, next.settled, next.secrets = s.grant, s.term, s.settled, s.secrets
	return s.term, s.place
}
