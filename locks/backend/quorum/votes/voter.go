package votes

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Voter is the promises of one seat for one lock: whom it has voted for, and until when. It
// stands as long as its promises do, in one process or, if those are kept, in one after the
// other. A seat has one Voter for a lock at a time: a second one would not know what the first
// has promised. Methods are not called concurrently.
type Voter struct {
	id    string
	seat  int
	group Group
	opens clock.Instant // before this, the voter abstains

	bound Term          // whom the last vote was for; zero if that was withdrawn
	until clock.Instant // until when it binds
	named uint64        // the token of that term; 0: it has none yet
	ended Term          // the last that an operator has ended; zero: none
	token uint64        // the greatest that was seen
}

// A Promise is what a Voter must not forget.
type Promise struct {
	Bound Term          `json:"bound,omitzero"`
	Until clock.Instant `json:"until,omitempty"`
	Named uint64        `json:"named,omitempty"` // the token of Bound
	Ended Term          `json:"ended,omitzero"`
	Token uint64        `json:"token,omitempty"` // the greatest that was seen
}

// NewVoter returns a voter without promises.
//
// No other voter has ever had the id, unless this one continues its promises. Opens is when the
// voter may vote at all: g.Longest after a reading of the boot clock that was taken when no other
// could vote in the seat any more, or, if it continues promises, what it was for them. Floor must
// be no less than any token that earlier voters of this seat have noted: see "Why tokens rise" in
// the documentation of the package.
func NewVoter(id string, seat int, g Group, opens clock.Instant, floor uint64) *Voter {
	return &Voter{id: id, seat: seat, group: g, opens: opens, token: floor}
}

// Continue makes a new voter continue the promises of an earlier one with the same id, seat, group
// and opens, which were kept since the host has booted.
func (v *Voter) Continue(p Promise) {
	v.bound, v.until, v.named, v.ended, v.token = p.Bound, p.Until, p.Named, p.Ended, max(p.Token, v.token)
}

// Promise returns what must be kept before an answer is sent, and before End is reported.
func (v *Voter) Promise() Promise { return Promise{v.bound, v.until, v.named, v.ended, v.token} }

// Abstain makes the voter abstain until a moment, at least. If promises are kept, it is opens for
// the voter that continues them.
func (v *Voter) Abstain(until clock.Instant) { v.opens = max(v.opens, until) }

// Vote answers a candidate. Now is a reading that was taken after the request had arrived. The
// Promise must be kept before the answer is sent. Who belongs to another group changes nothing.
func (v *Voter) Vote(now clock.Instant, a Ask) Answer {
	vote := v.decide(now, a)
	if vote != Foreign {
		v.token = max(v.token, a.Token)
	}
	answer := Answer{Voter: v.id, Seat: v.seat, Term: a.Term, Round: a.Round, Vote: vote, Token: v.token, Group: v.group}
	switch vote {
	case Granted:
		if v.bound != a.Term {
			v.named = 0
		}
		// A copy of the first request, which has no token, may come late.
		v.bound, v.until, v.named = a.Term, now.Add(a.TTL), max(v.named, a.Token)
	case Bound:
		answer.To, answer.Left, answer.Named = v.bound, v.until.Sub(now), v.named
	case Abstains:
		answer.Left = min(v.opens.Sub(now), MaxLongest)
	}
	return answer
}

func (v *Voter) decide(now clock.Instant, a Ask) Vote {
	switch {
	case a.Group != v.group || a.TTL <= 0 || a.TTL > v.group.Longest:
		return Foreign
	case now < v.opens:
		return Abstains
	case a.Term == v.ended:
		return Ended
	case now < v.until && a.Term != v.bound && !a.Term.ends(v.bound):
		return Bound
	}
	return Granted
}

// Withdraw ends the promise, if it was made to exactly this term. The answer is of round 0:
// the voter is not bound to the term.
func (v *Voter) Withdraw(w Withdrawal) Answer {
	if v.bound == w.Term {
		v.bound, v.until, v.named = Term{}, 0, 0
	}
	return Answer{Voter: v.id, Seat: v.seat, Term: w.Term, Token: v.token, Group: v.group}
}

// End makes the voter refuse the term that it is bound to, if that has this token, for ever. It
// reports false if that is not the term, or was ended already. The voter stays bound, because the job of the term may live. A majority
// must be told.
func (v *Voter) End(now clock.Instant, token uint64) bool {
	if now >= v.until || token == 0 || v.named != token || v.Ended() {
		return false
	}
	v.ended = v.bound
	return true
}

// Ended reports whether the term that the voter was bound to last has been ended.
func (v *Voter) Ended() bool { return v.bound != Term{} && v.ended == v.bound }

// Bound returns to which term the voter is bound, its token, and for how long; 0: to none.
func (v *Voter) Bound(now clock.Instant) (t Term, token uint64, left time.Duration) {
	if now >= v.until {
		return Term{}, 0, 0
	}
	return v.bound, v.named, v.until.Sub(now)
}

// Token returns the greatest token that the voter knows.
func (v *Voter) Token() uint64 { return v.token }
