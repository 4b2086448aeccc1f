package faultproxy

import (
	"sync"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest"
)

// A Set is the proxies of one store in the conformance suite, found by their
// addresses. The zero Set is empty.
type Set struct {
	mu  sync.Mutex
	all map[string]*Proxy
}

// New puts a proxy in front of an address, and returns the proxy's address.
func (s *Set) New(tb testing.TB, target string) (addr string) {
	p := New(tb, target)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*Proxy{}
	}
	s.all[p.Addr()] = p
	return p.Addr()
}

// Find returns the proxy with an address.
func (s *Set) Find(addr string) *Proxy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[addr]
}

// Cut cuts the network behind an address, as the suite requests.
func (s *Set) Cut(addr string, how lockstest.Cut) (heal func()) {
	p := s.Find(addr)
	if n, ok := how.Nth(); ok {
		p.HoldNth(n)
		return p.Land
	}
	switch how {
	case lockstest.CutReplies:
		p.CutReplies()
	case lockstest.CutAll:
		p.CutAll()
	case lockstest.CutReset:
		p.Refuse()
	case lockstest.CutOld:
		p.Silence()
	case lockstest.CutUnable:
		p.Unable()
	}
	return p.Heal
}
