package votes

import (
	"fmt"
	"slices"
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
	token     uint64        // of the term; 0: no majority has answered yet
	recorded  bool          // a majority has noted the token
	deadline  clock.Instant // E of the last round that was counted; 0: none was

	// The round under way.
	round      uint64
	sent       clock.Instant // t_s
	voters     []string      // who has answered
	grants     int
	abstaining int
	won        bool
	// greatest is the greatest token in the answers to this term.
	greatest uint64
}

// NewCandidate returns a candidate that has no term yet. The id must be different for each
// process. The ttl is L, in (0, g.Longest].
func NewCandidate(id string, g Group, ttl time.Duration) (*Candidate, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	if ttl <= 0 || ttl > g.Longest {
		return nil, fmt.Errorf("invalid lease %v (want at most %v)", ttl, g.Longest)
	}
	return &Candidate{group: g, ttl: ttl, term: Term{Candidate: id}, withdrawn: true}, nil
}

// Campaign begins a new term, which is no lease yet. It must not be called while a job of
// the term before may be alive, unless that term's E has passed.
func (c *Candidate) Campaign() {
	*c = Candidate{group: c.group, ttl: c.ttl, term: Term{c.term.Candidate, c.term.Number + 1}}
}

// Ask begins a round. Now is a reading that was taken before the request is sent, to all
// voters, our own among them; it may be sent to a voter again. Ask returns false if the term
// is over.
//
// The first round to be counted finds the token, the next one records it. Then the candidate
// leads, and each further round renews the lease.
func (c *Candidate) Ask(now clock.Instant) (Ask, bool) {
	if c.over(now) {
		return Ask{}, false
	}
	c.round++
	c.sent, c.voters, c.grants, c.abstaining, c.won = now, nil, 0, 0, false
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
	// Refused: so many voters have refused that the round cannot be won.
	Refused
	// Ghost: a voter has bound itself to a term of ours that is over. Send it [Withdrawal]
	// of the answer's term, or it stays bound for up to L.
	Ghost
	// Crowded: more voters have answered than there are seats, so two leaders are possible.
	// End the term, and report that.
	Crowded
)

// Count counts an answer. Now is a reading that was taken after the answer had arrived.
func (c *Candidate) Count(now clock.Instant, a Answer) Outcome {
	switch {
	case a.Term.Candidate != c.term.Candidate:
		return Open
	case a.Term != c.term || c.over(now):
		if a.Vote == Granted {
			return Ghost
		}
		return Open
	case a.Round != c.round || now >= c.sent.Add(trusted(c.ttl)) || slices.Contains(c.voters, a.Voter):
		return Open
	}
	return c.add(a)
}

// add adds the answer of a voter that has not answered in this round.
func (c *Candidate) add(a Answer) Outcome {
	c.voters = append(c.voters, a.Voter)
	c.greatest = max(c.greatest, a.Token)
	switch a.Vote {
	case Granted:
		c.grants++
	case Abstains:
		c.abstaining++
	}
	// A voter that abstains may have taken the seat of one that answered and died.
	switch refusals := len(c.voters) - c.grants; {
	case len(c.voters)-c.abstaining > c.group.Seats:
		return Crowded
	case c.won:
		return Open
	case c.grants >= c.group.Majority():
		return c.win()
	case refusals > c.group.Seats-c.group.Majority():
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
// recorded, and after the term is over.
func (c *Candidate) Lease(now clock.Instant) (token uint64, e clock.Instant, leads bool) {
	return c.token, c.deadline, c.recorded && !c.over(now)
}

// Withdraw ends the term, whether it was granted or not. It must not be called while a job of
// the term may be alive, unless E has passed. Send the result to all voters.
func (c *Candidate) Withdraw() Withdrawal {
	c.withdrawn = true
	return Withdrawal{Term: c.term}
}
