package gossip

import (
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// maxLocks is how many locks a seat knows. It forgets those to which it is not bound.
const maxLocks = 4096

// A seat is the voter of a process, for all locks that anybody asks for. The process has
// the port of the seat for itself, so the kernel ensures that a seat has one voter at a
// time.
type seat struct {
	id      string
	group   votes.Group
	clock   clock.Clock
	started clock.Instant // after it got the port
	version string
	log     *slog.Logger

	mu      sync.Mutex
	tally   *tally // nil: there is no file
	unsaved bool   // that was reported
	floor   uint64 // no token of a lock that is not in locks is greater
	locks   map[[2]string]*ballot
	records map[[2]string]*record

	watchers []watcher
}

// A ballot is a seat's vote for one lock.
type ballot struct {
	voter *votes.Voter
	label *label         // of the last term that got the vote
	token uint64         // of that term
	at    netip.AddrPort // where its candidate is
	// request is for the holder of the token. It is repeated a few times when the holder
	// renews, because it may have been cut off.
	request *request
	repeats int
	// waiters are candidates that were refused, in the order in which they asked first.
	// They learn of a withdrawal, and in which order to ask again: that is a courtesy.
	waiters []waiter
	free    bool // the last withdrawal has freed the voter
	changed bool // so that watchers are told
	// over are the last terms that were withdrawn. A request for one of them was delayed.
	// The rule allows to grant it, and its candidate would withdraw that, unless it has
	// ended.
	over []votes.Term
}

// A waiter is a candidate that was refused.
type waiter struct {
	candidate string
	at        netip.AddrPort
	asked     clock.Instant // last
}

// maxOver is how many terms that are over a ballot knows.
const maxOver = 16

// maxWaiters is how many candidates a ballot knows.
const maxWaiters = 64

// newSeat returns the voter of a seat. Started is a reading of the clock that was taken
// when no other process could have the seat any more.
func newSeat(id string, g votes.Group, c clock.Clock, started clock.Instant, floor uint64, version string) *seat {
	return &seat{id: id, group: g, clock: c, started: started, floor: floor, version: version, locks: map[[2]string]*ballot{}, records: map[[2]string]*record{}, log: slog.New(slog.DiscardHandler)}
}

// vote answers a request or a withdrawal, and returns the ballot, or nil: no answer.
func (s *seat) vote(p packet, m votes.Message) (votes.Answer, *ballot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, now := s.ballot([2]string{p.Space, m.Lock}), s.clock.Now()
	if b == nil {
		return votes.Answer{}, nil
	}
	if m.Withdrawal != nil {
		bound, _ := b.voter.Bound(now)
		b.free = bound == m.Withdrawal.Term
		b.changed = b.free
		b.over = append(b.over[max(0, len(b.over)-maxOver+1):], m.Withdrawal.Term)
		b.expire(now.Add(-2 * s.group.Longest)) // each asks at least once in a lease
		return b.voter.Withdraw(*m.Withdrawal), b
	}
	b.changed = false
	if slices.Contains(b.over, m.Ask.Term) {
		return votes.Answer{}, nil
	}
	before, _ := b.voter.Bound(now)
	a := b.voter.Vote(now, *m.Ask)
	if err := s.tally.note(a.Token); err != nil && !s.unsaved {
		s.unsaved = true
		s.log.Warn("tokens rise only while the date does: they cannot be written down", "err", err)
	}
	switch w := (waiter{m.Ask.Term.Candidate, p.From, now}); a.Vote {
	case votes.Granted:
		token := m.Ask.Token
		if before == m.Ask.Term { // a copy of the first round, which has no token, may come late
			token = max(token, b.token)
		}
		b.changed = before != m.Ask.Term || b.token != token
		b.label, b.token, b.at = p.Label, token, p.From
		b.waiters = slices.DeleteFunc(b.waiters, w.same)
	case votes.Bound:
		if i := slices.IndexFunc(b.waiters, w.same); i >= 0 {
			b.waiters[i] = w
		} else if len(b.waiters) < maxWaiters {
			b.waiters = append(b.waiters, w)
		}
	}
	return a, b
}

func (w waiter) same(other waiter) bool { return w.candidate == other.candidate }

func (b *ballot) expire(before clock.Instant) {
	b.waiters = slices.DeleteFunc(b.waiters, func(w waiter) bool { return w.asked < before })
}

// place returns how many candidates ask before this one.
func (b *ballot) place(candidate string) int {
	i := slices.IndexFunc(b.waiters, waiter{candidate: candidate}.same)
	if i < 0 {
		return len(b.waiters)
	}
	return i
}

// freed returns who learns of the last withdrawal.
func (b *ballot) freed() []waiter {
	if !b.free {
		return nil
	}
	return b.waiters
}

// look says what the seat knows about a lock.
func (s *seat) look(p packet) (*found, *label) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	f := &found{ID: p.Look.ID, Voter: s.id, Group: s.group, Version: s.version, Time: time.Now(), Age: now.Sub(s.started)}
	lock := [2]string{p.Space, p.Look.Lock}
	if p.Look.Watch != "" {
		s.watch(p, now)
		f.Mark = s.mark(lock, now)
	}
	b := s.locks[lock]
	if b == nil {
		return f, nil
	}
	if f.To, f.Left = b.voter.Bound(now); f.Left == 0 {
		return f, nil
	}
	f.Token = b.token
	return f, b.label
}

// holder returns where the holder is for whom a request is meant, if the seat is bound to
// it.
func (s *seat) holder(p packet) (at netip.AddrPort, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Request == nil {
		return at, false
	}
	b := s.locks[[2]string{p.Space, p.Request.Lock}]
	if b == nil || b.token != p.Request.Token {
		return at, false
	}
	b.request, b.repeats = p.Request, maxRepeats
	_, left := b.voter.Bound(s.clock.Now())
	return b.at, left > 0
}

// maxRepeats is how often a request is passed on again.
const maxRepeats = 5

// again returns a request to repeat for the holder that has just renewed, or nil.
func (b *ballot) again(a votes.Answer) *request {
	if a.Vote != votes.Granted || b.request == nil || b.request.Token != b.token || b.repeats == 0 {
		return nil
	}
	b.repeats--
	return b.request
}

// ballot returns the vote for a lock, or nil if there are too many.
func (s *seat) ballot(lock [2]string) *ballot {
	b := s.locks[lock]
	if b == nil && len(s.locks) >= maxLocks {
		s.forget()
	}
	if b == nil && len(s.locks) < maxLocks {
		b = &ballot{voter: votes.NewVoter(s.id, s.group, s.started, s.floor)}
		s.locks[lock] = b
	}
	return b
}

// forget forgets the locks to which the seat is not bound. The next token of each is
// greater than all that are forgotten.
func (s *seat) forget() {
	for lock, b := range s.locks {
		if _, left := b.voter.Bound(s.clock.Now()); left == 0 {
			s.floor = max(s.floor, b.voter.Token())
			delete(s.locks, lock)
		}
	}
}
