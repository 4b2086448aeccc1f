// Package voter is the standing voter of a host: it votes for any lock that a candidate of its
// group asks for, and keeps records. One runs on each host that the URL names, apart from all
// runs, which never vote. So a run that ends, or that is stopped, takes no vote away.
//
// What it has promised it keeps in a directory that is gone after a reboot, and writes before it
// answers; so a restart costs nothing. See package votes for the rule, and promises.go for the
// file. The voter grants nothing while it cannot write, and while another voter claims its seat.
package voter

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Config says which voter it is.
type Config struct {
	Group   votes.Group
	Names   []string // of all seats, "host:port", sorted
	Seat    int      // ours
	Keys    func() [][]byte
	Runtime string // a directory that is empty after a reboot
	State   string // a directory that stays
	Version string // of the program
	Log     *slog.Logger
}

// A Voter is one voter. Its promises and records are those of the directories.
type Voter struct {
	c       Config
	clock   clock.Clock
	sealer  *wire.Sealer
	started clock.Instant
	resumed string // why it has not continued the promises of an earlier one; "": it has

	mu       sync.Mutex
	closed   bool
	promises *promises
	state    *state
	locks    map[[2]string]*ballot
	floor    uint64              // no token of a lock that is not in locks is greater
	trouble  string              // why it cannot write; "": it can
	tried    clock.Instant       // when it was tried again
	seen     []sightings         // by seat
	doubted  clock.Instant       // until when it abstains, because another claims its seat
	rival    string              // the id of that one
	strange  map[string]struct{} // other lists of seats, each of which was reported
	changed  chan struct{}       // closed when a vote has changed
	point    chan message        // to holders, about requests
}

// maxJump is how far the date may be set forward, unnoticed.
const maxJump = time.Second

// New opens the directories of a voter that sends and receives nothing yet. No other may vote in
// its seat by then. The caller must call Close.
func New(c Config) (*Voter, error) {
	v := &Voter{c: c, clock: clock.Boot{}, sealer: wire.NewSealer(c.Keys), locks: map[[2]string]*ballot{}, strange: map[string]struct{}{}, changed: make(chan struct{}), point: make(chan message, 64), seen: make([]sightings, len(c.Names))}
	v.started = v.clock.Now()
	var err error
	if v.promises, err = openPromises(c.Runtime); err != nil {
		return nil, err
	}
	if v.state, err = openState(c.State); err == nil {
		v.resumed, err = v.promises.begin(head{
			Version: version, Epoch: epoch(), Seat: c.Names[c.Seat], Group: c.Group, ID: v.state.id, Run: rand.Text(),
			Opens: v.clock.Now().Add(c.Group.Longest), Drift: drift(),
		})
	}
	if err != nil {
		v.promises.close()
		return nil, err
	}
	v.floor = v.state.floor
	for lock, p := range v.promises.all {
		v.locks[lock] = &ballot{voter: v.newVoter()}
		v.locks[lock].voter.Continue(p)
	}
	return v, nil
}

// Close ends the voter.
func (v *Voter) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.promises.close()
	v.closed = true
}

// id returns the voter's id: that of the host's state, which stays, and that of the promises. The
// caller holds v.mu.
func (v *Voter) id() string { return v.state.id + "-" + v.promises.head.Run }

func (v *Voter) newVoter() *votes.Voter {
	return votes.NewVoter(v.id(), v.c.Seat, v.c.Group, v.promises.head.Opens, max(v.floor, today()))
}

// reopen makes the voter abstain as one that has just started. The caller holds v.mu.
func (v *Voter) reopen(why string) {
	v.c.Log.Info("does not vote for a while", "wait", v.c.Group.Longest, "reason", why)
	opens := v.clock.Now().Add(v.c.Group.Longest)
	v.resumed, v.promises.head.Run = why, rand.Text()
	v.note(v.promises.open(opens, drift()))
	for _, b := range v.locks {
		promise := b.voter.Promise()
		b.voter = v.newVoter()
		b.voter.Continue(promise) // to be bound to more does no harm
	}
}

// note notes whether something could be written. The caller holds v.mu.
func (v *Voter) note(err error) bool {
	trouble := ""
	if err != nil {
		trouble = "it cannot write: " + err.Error()
	}
	if trouble != v.trouble && err != nil {
		v.c.Log.Error("grants nothing", "err", err)
	}
	v.trouble = trouble
	return err == nil
}

// abstains returns why the voter grants nothing now, besides having just started. The caller holds
// v.mu.
func (v *Voter) abstains() string {
	if v.closed {
		return "it has ended"
	}
	if jump := drift() - v.promises.head.Drift; jump > maxJump {
		v.reopen(fmt.Sprintf("the date was set forward by %v, as when a snapshot is resumed", jump.Round(time.Millisecond)))
	}
	if now := v.clock.Now(); v.trouble != "" && now.Sub(v.tried) > time.Second {
		v.tried = now
		v.note(errors.Join(v.promises.rewrite(), v.state.rewrite()))
	}
	switch {
	case v.clock.Now() < v.doubted:
		return fmt.Sprintf("voter %s claims the same seat as this one, %s; stop one of them", v.rival, v.id())
	case v.trouble != "":
		return v.trouble
	}
	return ""
}

// A ballot is the vote for one lock.
type ballot struct {
	voter *votes.Voter
	label *wire.Label // of the last term that got the vote
	at    place       // where its candidate is
	// request is for the holder of the token. It is pointed out to the holder until that has
	// fetched it, at each renewal.
	request *wire.Request
	// waiters are candidates that were refused, in the order in which they asked first. They
	// learn of a withdrawal, and in which order to ask again: that is a courtesy.
	waiters []waiter
	// over are the last terms that were withdrawn. A request for one of them was delayed, or
	// its candidate does not know.
	over []votes.Term
}

// A waiter is a candidate that was refused.
type waiter struct {
	candidate string
	at        place
	asked     clock.Instant // last
}

// maxOver is how many terms that are over a ballot knows.
const maxOver = 16

// ballot returns the vote for a lock, or nil if there are too many. The caller holds v.mu.
func (v *Voter) ballot(lock [2]string) *ballot {
	b := v.locks[lock]
	if b == nil && len(v.locks) >= maxLocks {
		v.forget()
	}
	if b == nil && len(v.locks) < maxLocks {
		b = &ballot{voter: v.newVoter()}
		v.locks[lock] = b
	}
	return b
}

// forget forgets the locks to which the voter is not bound. The next token of each is greater
// than all that are forgotten.
func (v *Voter) forget() {
	for lock, b := range v.locks {
		if _, _, left := b.voter.Bound(v.clock.Now()); left == 0 {
			v.floor = max(v.floor, b.voter.Token())
			v.promises.forget(lock)
			delete(v.locks, lock)
		}
	}
}

// bound reports whether the voter is bound to a term for a lock. The caller holds v.mu.
func (v *Voter) bound(lock [2]string) bool {
	if b := v.locks[lock]; b != nil {
		_, _, left := b.voter.Bound(v.clock.Now())
		return left > 0
	}
	return false
}

// change tells those who watch. The caller holds v.mu.
func (v *Voter) change() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// absurd is how far a token may be above all that we know: a year of milliseconds. Greater ones
// are not of this world, and would use tokens up.
const absurd = 366 * 24 * 60 * 60 * 1000

// maxStrange bounds the reports of other lists of seats.
const maxStrange = 32

// A message is to be sent.
type message struct {
	to     place
	packet wire.Packet
}

// receive takes a packet, and returns what is to be sent, the answer first.
func (v *Voter) receive(p wire.Packet, from place) []message {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch lock := [2]string{p.Space, p.Vote.Lock}; {
	case p.Vote.Ask != nil:
		return v.vote(lock, p, from)
	case p.Vote.Withdrawal != nil:
		return v.withdraw(lock, p, from)
	}
	return nil
}

func (v *Voter) vote(lock [2]string, p wire.Packet, from place) []message {
	ask, why := *p.Vote.Ask, v.abstains()
	reply := wire.Packet{Space: p.Space}
	answered := func(a votes.Answer) []message {
		reply.Vote = votes.Message{Lock: p.Vote.Lock, Answer: &a}
		return []message{{from, reply}}
	}
	blank := votes.Answer{Voter: v.id(), Seat: v.c.Seat, Term: ask.Term, Round: ask.Round, Group: v.c.Group}
	if ask.Group != v.c.Group { // no ballot for strangers
		if _, known := v.strange[p.List]; p.List != "" && !known && len(v.strange) < maxStrange {
			v.strange[p.List] = struct{}{}
			v.c.Log.Warn("somebody has another list of seats, and gets no vote", "addr", from.addr.String(), "reason", fmt.Sprintf("there it is %s, here %s", p.List, v.list()))
		}
		blank.Vote, reply.List = votes.Foreign, v.list()
		return answered(blank)
	}
	b := v.ballot(lock)
	if b == nil || ask.Token > max(b.voter.Token(), today())+absurd {
		return nil
	}
	if why != "" {
		blank.Vote, blank.Token, blank.Left = votes.Abstains, b.voter.Token(), time.Second
		return answered(blank)
	}
	if slices.Contains(b.over, ask.Term) {
		blank.Vote, blank.Token = votes.Ended, b.voter.Token()
		return answered(blank)
	}
	now := v.clock.Now()
	before, named, _ := b.voter.Bound(now)
	a := b.voter.Vote(now, ask)
	if !v.note(v.state.note(a.Token)) {
		return nil
	}
	switch w := (waiter{ask.Term.Candidate, from, now}); a.Vote {
	case votes.Granted:
		if !v.note(v.promises.keep(lock, b.voter.Promise(), drift())) {
			return nil
		}
		term, token, _ := b.voter.Bound(now)
		if before != term || token != named {
			v.change()
		}
		b.label, b.at = p.Label, from
		b.waiters = slices.DeleteFunc(b.waiters, w.same)
		if r := b.request; r != nil && r.Token == token && token > 0 {
			reply.Request = r.ID
		}
	case votes.Bound:
		i := slices.IndexFunc(b.waiters, w.same)
		if i >= 0 {
			b.waiters[i] = w
		} else if i = len(b.waiters); i < wire.MaxWaiters {
			b.waiters = append(b.waiters, w)
		}
		reply.Label, reply.Place = b.label, i
	}
	return answered(a)
}

func (w waiter) same(other waiter) bool { return w.candidate == other.candidate }

func (v *Voter) withdraw(lock [2]string, p wire.Packet, from place) []message {
	b, now := v.locks[lock], v.clock.Now()
	if b == nil {
		b = &ballot{voter: v.newVoter()} // not kept: it is bound to nobody
	}
	term := p.Vote.Withdrawal.Term
	bound, _, _ := b.voter.Bound(now)
	answer := b.voter.Withdraw(*p.Vote.Withdrawal)
	all := []message{{from, wire.Packet{Space: p.Space, Vote: votes.Message{Lock: p.Vote.Lock, Answer: &answer}}}}
	if !slices.Contains(b.over, term) {
		b.over = append(b.over[max(0, len(b.over)-maxOver+1):], term)
	}
	if bound != term {
		return all
	}
	_ = v.promises.keep(lock, b.voter.Promise(), drift()) // otherwise the next voter is bound for longer
	v.change()
	b.waiters = slices.DeleteFunc(b.waiters, func(w waiter) bool { return w.asked < now.Add(-2*v.c.Group.Longest) }) // each asks at least once in a lease
	for i, w := range b.waiters {
		all = append(all, message{w.at, wire.Packet{Space: p.Space, Place: i, Vote: p.Vote}})
	}
	return all
}

// list is the list of seats, for people.
func (v *Voter) list() string { return wire.List(v.c.Names, v.c.Group) }

// Abstains returns for how long the voter abstains because it cannot know what it has promised
// before, and why.
func (v *Voter) Abstains() (reason string, wait time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.resumed, max(0, v.promises.head.Opens.Sub(v.clock.Now()))
}

// ID returns the id of the voter.
func (v *Voter) ID() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.id()
}
