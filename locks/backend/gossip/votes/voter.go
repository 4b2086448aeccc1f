package votes

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Voter is the promise of one process for one lock: whom it has voted for, and until when.
// A process has one Voter for a lock from its start to its end; a second one would not know
// what the first has promised. Methods are not called concurrently.
type Voter struct {
	id    string
	group Group
	opens clock.Instant // before this, the voter abstains

	bound Term          // whom the last vote was for; zero if that was withdrawn
	until clock.Instant // until when it binds
	token uint64        // the greatest that was seen
}

// NewVoter returns the voter of a process.
//
// The id must be different for each process, also for each one on the same host. Started is
// a reading of the boot clock that was taken after the process began. Floor must be no less
// than any token that earlier voters of this seat have noted: see "Why tokens rise" in the
// documentation of the package.
func NewVoter(id string, g Group, started clock.Instant, floor uint64) *Voter {
	return &Voter{id: id, group: g, opens: started.Add(g.Longest), token: floor}
}

// Vote answers a candidate. Now is a reading that was taken after the request had arrived.
//
// If the tokens are also kept in a file, Token must be in the file before the answer is sent.
func (v *Voter) Vote(now clock.Instant, a Ask) Answer {
	v.token = max(v.token, a.Token)
	vote := v.decide(now, a)
	answer := Answer{Voter: v.id, Term: a.Term, Round: a.Round, Vote: vote, Token: v.token, Group: v.group}
	switch vote {
	case Granted:
		v.bound, v.until = a.Term, now.Add(a.TTL)
	case Bound:
		answer.To, answer.Left = v.bound, v.until.Sub(now)
	case Abstains:
		answer.Left = v.opens.Sub(now)
	}
	return answer
}

func (v *Voter) decide(now clock.Instant, a Ask) Vote {
	switch {
	case a.Group != v.group || a.TTL <= 0 || a.TTL > v.group.Longest:
		return Foreign
	case now < v.opens:
		return Abstains
	case now < v.until && a.Term != v.bound && !a.Term.ends(v.bound):
		return Bound
	}
	return Granted
}

// Withdraw ends the promise, if it was made to exactly this term. The answer is of round 0:
// the voter is not bound to the term.
func (v *Voter) Withdraw(w Withdrawal) Answer {
	if v.bound == w.Term {
		v.bound, v.until = Term{}, 0
	}
	return Answer{Voter: v.id, Term: w.Term, Token: v.token, Group: v.group}
}

// Bound returns to which term the voter is bound, and for how long; 0: to none.
func (v *Voter) Bound(now clock.Instant) (Term, time.Duration) {
	if now >= v.until {
		return Term{}, 0
	}
	return v.bound, v.until.Sub(now)
}

// Token returns the greatest token that the voter knows.
func (v *Voter) Token() uint64 { return v.token }
