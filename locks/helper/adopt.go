package helper

import (
	"errors"
	"fmt"

	"github.com/leaderrun/leaderrun/locks/program/threads"
)

// tasks are what a helper takes until it has the threads that it needs. One that cannot
// have them is ended by the Go runtime, with pages of text.
const tasks = 16

// A helper may be killed while the lock that it keeps is well: for want of memory, or
// by mistake. By what the server knows the holder (a lease, a session, a nonce), the
// helper has told us with the grant. So another one can go on with the term: it is told
// that when it opens the lock. This extends no lease: we ask for each renewal, as
// before, and the deadline stays what it was.

// serving returns the instance to ask: the latest, or if that has ended and left a term
// behind, one that follows it.
func (l *Lock) serving() *instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	why := l.at.session.orphaned()
	if l.closed || why == nil {
		return l.at
	}
	if err := l.follow(l.at); err != nil {
		l.log.Debug("cannot start another helper", "err", err)
		return l.at // which says how it ended
	}
	l.log.Warn("the helper has ended, and another goes on with the lock", "err", why)
	return l.at
}

// follow starts an instance that goes on with the term of another.
func (l *Lock) follow(before *instance) error {
	path, err := l.programs.Find(l.scheme)
	if err != nil {
		return err
	}
	if free := threads.Free(); free < tasks {
		return fmt.Errorf("only %d more threads and processes are allowed", free)
	}
	before.session.stopWriting()
	p, err := startProcess(path, before.process.name, environment(), before.process.input.reuse())
	if err != nil {
		return err
	}
	s := l.newSession(p)
	l.open.Term = before.session.handOver(s)
	return l.launch(p, s)
}

// orphaned returns why a session has ended that left a term behind, and nil otherwise.
func (s *session) orphaned() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasTerm() {
		return nil
	}
	return s.err
}

// hasTerm reports that there is a term with which another session can go on; mu is held.
func (s *session) hasTerm() bool {
	return s.grant != nil && s.grant.TTL > 0 && s.term != "" && !errors.Is(s.err, errReleased) && !errors.Is(s.err, errClosed)
}

// hasServed reports that the helper could do what it is for.
func (s *session) hasServed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// stopWriting leaves the pipe to another session. What is under way is written first.
func (s *session) stopWriting() {
	s.wmu.Lock()
	defer s.wmu.Unlock()
	s.over = true
}

// handOver makes next go on with the term, and returns what its helper needs for that.
func (s *session) handOver(next *session) (term string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next.grant, next.term, next.settled, next.secrets = s.grant, s.term, s.settled, s.secrets
	return s.term
}
