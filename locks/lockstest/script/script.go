// Package script has tests decide what becomes of the requests to a server that they
// simulate.
package script

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Request tells in a word of what kind it is.
type Request interface{ Kind() string }

// A Script judges requests, and remembers them. What becomes of one is an F, the zero
// value of which lets it pass. The zero Script lets all pass.
type Script[R Request, F any] struct {
	mu    sync.Mutex
	fault func(R) F
	log   []R
}

// Fault has each request from now on judged by f, perhaps several at once; nil ends all
// faults.
func (s *Script[R, F]) Fault(f func(R) F) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Next has the next request of a kind fail, and those after it pass.
func (s *Script[R, F]) Next(kind string, f F) { s.NextOf(f, kind) }

// NextOf is the same for one of several kinds.
func (s *Script[R, F]) NextOf(f F, kinds ...string) {
	var done atomic.Bool
	s.Fault(func(r R) (pass F) {
		if slices.Contains(kinds, r.Kind()) && !done.Swap(true) {
			return f
		}
		return pass
	})
}

// Judge returns what becomes of a request.
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

// Requests returns those that were noted since the last call.
func (s *Script[R, F]) Requests() []R {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}
