// Package candidate makes a lock of votes: it lets a candidate of package votes campaign, renew
// and withdraw over a network. Who the voters are, and how a message reaches them, is the
// network's to know.
package candidate

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Network sends messages. It does not block, and calls no Lock before it returns. It may
// lose, repeat, delay and reorder messages.
type Network interface {
	// Broadcast sends a message to all voters, our own among them. A withdrawal also goes to
	// the candidates that wait.
	Broadcast(m votes.Message)
	// Send sends a message to the voter in a seat.
	Send(seat int, m votes.Message)
}

// A Config says how a Lock takes part.
type Config struct {
	// ID is the candidate's. No two Locks have the same, not even one after the other.
	ID      string
	Group   votes.Group
	Network Network
	// Leader returns what is known about who has refused us the lock, besides its id. Nil
	// means nothing.
	Leader func() locks.Status
	// Turn returns how long to wait before we ask for a lock that has become free, so that
	// candidates do not meet. Nil means a random time.
	Turn func() time.Duration
	// Foreign says why a majority of the voters does not vote for us: they belong to another
	// group. It is called once they have answered so. Nil means nothing.
	Foreign func() string
	// Again is called after each round that was not won: addresses may have changed. It does not
	// block. Nil means nothing.
	Again func()
	// Clock is the boot clock; nil means clock.Boot.
	Clock clock.Clock
}

// A Lock is a handle on one lock. It implements [locks.Lock]. Its owner passes it what
// arrives: see [Lock.Receive].
type Lock struct {
	c       Config
	o       locks.Options
	log     *slog.Logger
	lost    chan error
	changed chan struct{} // somebody's term may have ended
	workers *workers.Workers

	mu        sync.Mutex
	candidate *votes.Candidate
	campaigns context.CancelFunc // ends the Acquire under way; nil: there is none
	granted   bool
	final     error       // why the handle cannot be used any longer; nil: it can
	holder    votes.Term  // that our last campaign has met
	round     *round      // the last one
	farewell  *withdrawal // nil before Release
}

// shortest is the shortest lease. It leaves time for some rounds.
const shortest = time.Second

// New makes a handle. It sends nothing. A lease that is longer than the group's longest is a
// usage error.
func New(c Config, o locks.Options) (*Lock, error) {
	o.TTL = max(o.TTL, shortest)
	candidate, err := votes.NewCandidate(c.ID, c.Group, o.TTL)
	if err != nil {
		return nil, locks.Usagef("%v", err)
	}
	if c.Turn == nil {
		c.Turn = func() time.Duration { return rand.N(spread) }
	}
	if c.Foreign == nil {
		c.Foreign = func() string { return "the voters belong to another group" }
	}
	if c.Again == nil {
		c.Again = func() {}
	}
	if c.Clock == nil {
		c.Clock = clock.Boot{}
	}
	return &Lock{
		c: c, o: o, log: handle.Logger("quorum", o), candidate: candidate,
		lost: make(chan error, 1), changed: make(chan struct{}, 1), workers: workers.New(),
	}, nil
}

// Receive takes an answer to this candidate, or a withdrawal of any candidate, about this
// lock. It does not block.
func (l *Lock) Receive(m votes.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch a := m.Answer; {
	case m.Withdrawal != nil && m.Withdrawal.Term == l.holder:
		workers.Poke(l.changed)
	case a == nil:
	case a.Round == 0:
		l.farewell.acknowledged(a, l.c.Group.Majority())
	default:
		l.count(*a)
	}
}

// count counts the answer of a voter.
func (l *Lock) count(a votes.Answer) {
	o := l.candidate.Count(l.c.Clock.Now(), a)
	l.round.add(a, o)
	switch o {
	case votes.Ghost:
		l.c.Network.Send(a.Seat, l.message(votes.Message{Withdrawal: &votes.Withdrawal{Term: a.Term}}))
	case votes.Evicted: // the job still lives, so nothing is withdrawn
		if l.granted {
			l.lose(locks.LostError("a majority of the voters is not bound to us any more"))
		}
	}
}

// lose ends the handle, unless it has ended already.
func (l *Lock) lose(why error) {
	if l.final != nil {
		return
	}
	l.final = why
	switch {
	case l.granted:
		l.log.Info("lost the lock", "err", why)
		l.lost <- why
	case l.campaigns != nil:
		l.campaigns()
	}
}

func (l *Lock) message(m votes.Message) votes.Message {
	m.Lock = l.o.Name
	return m
}

// Lost implements [locks.Lock].
func (l *Lock) Lost() <-chan error { return l.lost }

// Term returns the term that we lead, and its token.
func (l *Lock) Term() (t votes.Term, token uint64, leads bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.granted || l.final != nil {
		return t, 0, false
	}
	token, _, leads = l.candidate.Lease(l.c.Clock.Now())
	return l.round.ask.Term, token, leads
}

// Close implements [locks.Lock].
func (l *Lock) Close() error {
	l.workers.End()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final == nil {
		l.final = workers.ErrClosed
	}
	return nil
}

// fail returns an error of a method.
func (l *Lock) fail(ctx context.Context, op string, class, err error) error {
	e := &locks.Error{Op: op, Backend: "quorum", Name: l.o.Name, Class: class, Err: err}
	return e.Ended(ctx, errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
}

// state returns why the handle cannot be used any longer, and whether it holds the lock.
func (l *Lock) state() (final error, granted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.final, l.granted
}

// attempt returns how long one round may take in a campaign: enough for busy hosts, and not
// most of the lease.
func (l *Lock) attempt() time.Duration {
	return max(l.o.TTL/10, min(l.o.TTL/4, 500*time.Millisecond))
}

var _ locks.Lock = (*Lock)(nil)
