package votes

import (
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Candidate is one process that wants one lock, in one campaign after another. Methods are
// not called concurrently.
type Candidate struct {
	group Group
	ttl   time.Duration

	term      Term
	withdrawn bool
	evicted   bool          // it was granted, and a majority has said that it is not ours
	token     uint64        // of the term; 0: no majority has answered yet
	recorded  bool          // a majority has noted the token
	deadline  clock.Instant // E of the last round that was won; 0: none was
	greatest  uint64        // of the tokens in the answers to this term

	// The round under way.
	round   uint64
	sent    clock.Instant  // t_s
	answers [MaxSeats]Vote // of each seat; "": none yet
	won     bool

	seats [MaxSeats]claim
}

// A claim is what a candidate knows of who votes in a seat. Who abstains is not noted: it may
// follow one that has voted and died.
type claim struct {
	voter   string        // who has voted last
	asked   clock.Instant // t_s of the round in which that was
	doubted clock.Instant // until then the seat does not count: two have voted there
}

// NewCandidate returns a candidate that has no term yet. The id must be different for each
// process. The ttl is L, at most g.Longest.
func NewCandidate(id string, g Group, ttl time.Duration) (*Candidate, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	if ttl < shortest || ttl > g.Longest {
		return nil, fmt.Errorf("invalid lease %v (want %v to %v)", ttl, shortest, g.Longest)
	}
	return &Candidate{group: g, ttl: ttl, term: Term{Candidate: id}, withdrawn: true}, nil
}

// Campaign begins a new term, which is no lease yet. It must not be called while a job of
// the term before may be alive, unless that term's E has passed.
func (c *Candidate) Campaign() {
	*c = Candidate{group: c.group, ttl: c.ttl, term: Term{c.term.Candidate, c.term.Number + 1}, seats: c.seats}
}

// Ask begins a round. Now is a reading that was taken before the request is sent, to all
// voters; it may be sent to a voter again. Ask returns false if the term is over or evicted.
//
// The first round to be counted finds the token, the next one records it. Then the candidate
// leads, and each further round renews the lease.
func (c *Candidate) Ask(now clock.Instant) (Ask, bool) {
	if c.over(now) || c.evicted {
		return Ask{}, false
	}
	c.round++
	c.sent, c.answers, c.won = now, [MaxSeats]Vote{}, false
	return Ask{Group: c.group, Term: c.term, Round: c.round, TTL: c.ttl, Token: c.token}, true
}

// An Outcome is what an answer means for its candidate.
type Outcome int

// The outcomes.
const (
	// Open: the answer has decided nothing.
	Open Outcome = iota
	// Won: with this answer a majority has granted the round. Ask again, or, if the token
	// is recorded, see [Candidate.Lease].
	Won
	// Refused: so many voters have refused that the round cannot be won. Later answers to the
	// round may still make it Evicted.
	Refused
	// Ghost: a voter has bound itself to a term of ours that is over. Send it [Withdrawal]
	// of the answer's term, or it stays bound for up to L.
	Ghost
	// Evicted: a majority says in one round that it is bound to others, or that the term has
	// ended. If the term was granted, it is lost: an operator has ended it, or something that
	// is assumed is not true. It is never renewed, but the job may live, so withdraw it only
	// when that is dead.
	Evicted
)

// Count counts an answer. Now is a reading that was taken after the answer had arrived. Voters
// of other groups do not count. Once a round is Refused or Evicted, so may each further answer be.
func (c *Candidate) Count(now clock.Instant, a Answer) Outcome {
	switch {
	case a.Term.Candidate != c.term.Candidate || a.Group != c.group:
		return Open
	case a.Term != c.term || c.over(now):
		if a.Vote == Granted {
			return Ghost
		}
		return Open
	case a.Seat < 0 || a.Seat >= c.group.Seats || a.Round != c.round || now >= c.sent.Add(trusted(c.ttl)) || c.elsewhere(a):
		return Open
	}
	if a.Vote != Abstains {
		c.noteVoter(now, a)
	}
	if c.answers[a.Seat] == "" {
		c.answers[a.Seat] = a.Vote
		c.greatest = max(c.greatest, a.Token)
	}
	if c.won {
		return Open
	}
	return c.tally(now)
}

// elsewhere reports whether the voter has answered from another seat.
func (c *Candidate) elsewhere(a Answer) bool {
	for i, vote := range c.answers {
		if i != a.Seat && vote != "" && c.seats[i].voter == a.Voter {
			return true
		}
	}
	return false
}

// noteVoter notes who votes in a seat. If another one has, whom it cannot have followed, because it
// would still have to abstain, the promises of both bind nobody.
func (c *Candidate) noteVoter(now clock.Instant, a Answer) {
	s, longest := &c.seats[a.Seat], c.group.Longest
	if s.voter != "" && s.voter != a.Voter && now < s.asked.Add(trusted(longest)) {
		s.doubted = now.Add(longest)
	}
	s.voter, s.asked = a.Voter, c.sent
}

// tally says what the answers to the round mean.
func (c *Candidate) tally(now clock.Instant) Outcome {
	var grants, against, refusals int
	for i, vote := range c.answers[:c.group.Seats] {
		switch {
		case now < c.seats[i].doubted:
			refusals++
		case vote == Granted:
			grants++
		case vote == Bound || vote == Ended:
			against++
			refusals++
		case vote != "":
			refusals++
		}
	}
	switch majority := c.group.Majority(); {
	case grants >= majority:
		return c.win()
	case against >= majority:
		c.evicted = c.recorded
		return Evicted
	case refusals > c.group.Seats-majority:
		return Refused
	}
	return Open
}

// win takes the majority of a round.
func (c *Candidate) win() Outcome {
	if c.token == 0 && c.greatest+1 == 0 {
		return Refused // there is no greater token
	}
	c.won, c.deadline = true, c.sent.Add(trusted(c.ttl))
	c.recorded = c.token > 0
	if c.token == 0 {
		c.token = c.greatest + 1
	}
	return Won
}

// over reports whether the term can be no lease any more: it was withdrawn, or its E has
// passed. Only then are late votes for it withdrawn.
func (c *Candidate) over(now clock.Instant) bool {
	return c.withdrawn || c.deadline > 0 && now >= c.deadline
}

// Lease returns the token of the term, and E. It returns false before the token has been
// recorded, and after the term is over or evicted.
func (c *Candidate) Lease(now clock.Instant) (token uint64, e clock.Instant, leads bool) {
	return c.token, c.deadline, c.recorded && !c.evicted && !c.over(now)
}

// Withdraw ends the term, whether it was granted or not. It must not be called while a job of
// the term may be alive, unless E has passed. Send the result to all voters.
func (c *Candidate) Withdraw() Withdrawal {
	c.withdrawn = true
	return Withdrawal{Term: c.term}
}
