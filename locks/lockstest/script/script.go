// Package script lets tests decide the outcome of requests to a server that they simulate.
// This is a package of its own because it knows nothing of locks.
package script

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Request has a kind, described in a word.
type Request interface{ Kind() string }

// A Script decides the outcome of requests, and remembers them. An outcome is an F, whose
// zero value lets the request pass. The zero Script lets all pass.
type Script[R Request, F any] struct {
	mu    sync.Mutex
	fault func(R) F
	log   []R
}

// Fault makes f decide about each request from now on, perhaps about several at once. Nil
// ends all faults.
func (s *Script[R, F]) Fault(f func(R) F) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Next makes the next request of a kind fail with f, and later ones pass.
func (s *Script[R, F]) Next(kind string, f F) { s.NextOf(f, kind) }

// NextOf is like Next for the next request of any of several kinds.
func (s *Script[R, F]) NextOf(f F, kinds ...string) {
	var done atomic.Bool
	s.Fault(func(r R) (pass F) {
		if slices.Contains(kinds, r.Kind()) && !done.Swap(true) {
			return f
		}
		return pass
	})
}

// Judge returns the outcome of a request.
func (s *Script[R, F]) Judge(r R) (pass F) {
	s.mu.Lock()
	f := s.fault
	s.mu.Unlock()
	if f == nil {
		return pass
	}
	return f(r)
}

// Note remembers a request.
func (s *Script[R, F]) Note(r R) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, r)
}

// Requests returns the requests noted since the last call.
func (s *Script[R, F]) Requests() []R {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}
