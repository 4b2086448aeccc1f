package candidate_test

import (
	"context"
	"crypto/rand"
	"fmt"
	mrand "math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/candidate"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest"
)

var group = votes.Group{Seats: 3, Longest: votes.MaxLongest, List: "three hosts"}

// A fleet is three voters for each lock, and candidates that come and go, in a simulated
// network.
type fleet struct {
	mu         sync.Mutex
	voters     map[string][]voter
	candidates map[string]*contender
	cuts       map[string]lockstest.Cut // of a host
	asked      votes.Ask                // the last one
	last       int
}

// A contender is a handle, and its end of the network.
type contender struct {
	fleet      *fleet
	host, path string
	lock       *candidate.Lock
}

func newFleet() *fleet {
	return &fleet{voters: map[string][]voter{}, candidates: map[string]*contender{}, cuts: map[string]lockstest.Cut{}}
}

// open opens a handle. A host has one network address, a path is a fleet of its own.
func (f *fleet) open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	id := fmt.Sprintf("%s%s#%d", u.Host, u.Path, f.last)
	c := &contender{fleet: f, host: u.Host, path: u.Path}
	l, err := candidate.New(candidate.Config{ID: id, Group: group, Network: c, Clock: clock.Bubble{}}, o)
	if err != nil {
		return nil, err
	}
	c.lock = l
	f.candidates[id] = c
	return l, nil
}

// Broadcast implements [candidate.Network].
func (c *contender) Broadcast(m votes.Message) {
	for seat := range group.Seats {
		c.Send(seat, m)
	}
	if m.Withdrawal == nil {
		return
	}
	c.fleet.later(func() {
		for _, other := range c.fleet.candidates {
			if other.path == c.path {
				other.receive(m)
			}
		}
	})
}

// Send implements [candidate.Network].
func (c *contender) Send(seat int, m votes.Message) {
	m = wire(m)
	c.fleet.later(func() {
		if how := c.fleet.cuts[c.host]; how == "" || how == lockstest.CutReplies {
			for _, v := range c.fleet.votersOf(c.path + m.Lock) {
				if v.seat == seat {
					c.fleet.vote(v, m)
				}
			}
		}
	})
}

// wire encodes and decodes a message.
func wire(m votes.Message) votes.Message {
	b, err := votes.Encode(m)
	if err == nil {
		m, err = votes.Decode(b)
	}
	if err != nil {
		panic(err)
	}
	return m
}

// later does something after the latency of the network.
func (f *fleet) later(do func()) {
	time.AfterFunc(mrand.N(2*time.Millisecond), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		do()
	})
}

// votersOf returns the voters for a lock, which have been there for long. A test may add one.
func (f *fleet) votersOf(lock string) []voter {
	for i := len(f.voters[lock]); i < group.Seats; i++ {
		f.voters[lock] = append(f.voters[lock], newVoter(i, 0))
	}
	return f.voters[lock]
}

// A voter is one in a seat.
type voter struct {
	*votes.Voter
	seat int
	over map[votes.Term]bool // as with a real one, no request of a term counts after its withdrawal
}

// newVoter returns a voter that abstains for a while.
func newVoter(seat int, abstains time.Duration) voter {
	return voter{votes.NewVoter(rand.Text(), seat, group, clock.Bubble{}.Now().Add(abstains), 0), seat, map[votes.Term]bool{}}
}

// vote lets a voter answer.
func (f *fleet) vote(v voter, m votes.Message) {
	var a votes.Answer
	switch {
	case m.Ask != nil && v.over[m.Ask.Term]:
		return
	case m.Ask != nil:
		f.asked = *m.Ask
		a = v.Vote(clock.Bubble{}.Now(), *m.Ask)
	default:
		v.over[m.Withdrawal.Term] = true
		a = v.Withdraw(*m.Withdrawal)
	}
	f.later(func() {
		if c := f.candidates[a.Term.Candidate]; f.cuts[c.host] == "" {
			c.receive(votes.Message{Lock: m.Lock, Answer: &a})
		}
	})
}

// receive passes on what has arrived. The lock sends while it handles that.
func (c *contender) receive(m votes.Message) { c.lock.Receive(wire(m)) }

// cut cuts a host off.
func (f *fleet) cut(host string, how lockstest.Cut) (heal func()) {
	set := func(how lockstest.Cut) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.cuts[host] = how
	}
	if how.Lasting() { // there are no connections
		set(how)
	}
	return func() { set("") }
}
