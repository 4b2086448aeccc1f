package votes

import (
	"math"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// again returns the voter that continues another one after it was kept.
func again(v *Voter, opens clock.Instant) *Voter {
	next := NewVoter(v.id, v.seat, v.group, opens, 0)
	next.Continue(v.Promise())
	return next
}

// TestContinue: a voter that continues another one is the same one. It may vote at once if that
// one might, and abstains if that one did.
func TestContinue(t *testing.T) {
	t.Parallel()
	vs, a := voters(7, "1", "2", "3"), candidate(t, "a")
	elect(t, a, opened, vs[:2]...)
	if !vs[1].End(opened, 8) {
		t.Error("the voter does not end the term")
	}
	for _, v := range vs {
		if got := again(v, opened); *got != *v {
			t.Errorf("got %+v after %+v", got, v)
		}
	}
	if o := round(t, a, opened, again(vs[0], opened), vs[2]); o != Won {
		t.Errorf("got outcome %v; want %v", o, Won)
	}
	b := candidate(t, "b")
	ask, _ := b.Ask(opened)
	if got := again(vs[0], opened).Vote(opened, ask); got.Vote != Bound || got.To != a.term || got.Named != 8 {
		t.Errorf("got %+v", got)
	}
	if got := again(vs[2], opened+1).Vote(opened, ask); got.Vote != Abstains || got.Left != 1 {
		t.Errorf("got %+v", got)
	}
	next := NewVoter("4", 0, trio, opened, 100)
	if next.Continue(vs[0].Promise()); next.Token() != 100 {
		t.Errorf("got token %d; want that of the floor, 100", next.Token())
	}
}

// TestAbstain: a voter can be made to abstain for longer, but not for less long. What it says of
// it can be sent.
func TestAbstain(t *testing.T) {
	t.Parallel()
	v := voters(0, "1")[0]
	ask, _ := candidate(t, "a").Ask(opened)
	v.Vote(opened, ask)
	v.Abstain(opened + 2)
	v.Abstain(opened + 1)
	if got := v.Vote(opened, ask); got.Vote != Abstains || got.Left != 2 {
		t.Errorf("got %+v", got)
	}
	if to, _, _ := v.Bound(opened); to != ask.Term {
		t.Errorf("bound to %v; want %v", to, ask.Term)
	}
	v.Abstain(clock.Never)
	got := v.Vote(opened, ask)
	if _, err := Encode(Message{Answer: &got}); err != nil {
		t.Error(err)
	}
}

// TestEndedTerm: who was told that a term has ended refuses it for ever, but is bound to it.
func TestEndedTerm(t *testing.T) {
	t.Parallel()
	vs, a := voters(0, "1", "2", "3"), candidate(t, "a")
	b, _ := candidate(t, "b").Ask(opened)
	if vs[0].End(opened, 0) || vs[0].Ended() {
		t.Error("a voter ends the term of nobody")
	}
	round(t, a, opened, vs...)
	if vs[0].End(opened, 0) {
		t.Error("a term without a token is ended")
	}
	round(t, a, opened, vs...)
	e := opened.Add(lease)
	for _, c := range []struct {
		at    clock.Instant
		token uint64
		want  bool
	}{{opened, 2, false}, {opened, 0, false}, {e, 1, false}, {e - 1, 1, true}, {e - 1, 1, false}} {
		for _, v := range vs[:2] {
			if got := v.End(c.at, c.token); got != c.want {
				t.Errorf("token %d at %v: got %v", c.token, c.at, got)
			}
		}
	}
	if got := vs[0].Vote(e-1, b); got.Vote != Bound || got.To != a.term || got.Named != 1 {
		t.Errorf("got %+v", got)
	}
	late, _ := a.Ask(opened)
	if got := vs[0].Vote(e, late); got.Vote != Ended {
		t.Errorf("got %+v", got)
	}
	if got := vs[0].Vote(e, b); got.Vote != Granted {
		t.Errorf("got %+v", got)
	}
	if vs[0].End(e, 1) {
		t.Error("a voter ends a term by the token of another")
	}
	if got := vs[0].Vote(e, late); got.Vote != Ended {
		t.Errorf("got %+v while it is bound to another", got)
	}
	if got := vs[1].Withdraw(Withdrawal{a.term}); got.Vote != "" || got.Round != 0 || got.Seat != 1 || got.Term != a.term {
		t.Errorf("got %+v", got)
	}
	if to, token, left := vs[1].Bound(0); to != (Term{}) || token != 0 || left != 0 {
		t.Errorf("bound to %v, %d, for %v after the withdrawal", to, token, left)
	}
	if got := vs[1].Vote(opened, late); got.Vote != Ended {
		t.Errorf("got %+v after the withdrawal", got)
	}
	a.Campaign()
	if got := round(t, a, opened, vs[1], vs[2]); got != Won {
		t.Errorf("a later term: got outcome %v; want %v", got, Won)
	}
}

// TestEvicted: a lease that a majority refuses for another term, or because it has ended, is lost,
// and is not renewed. A candidate without one has lost nothing.
func TestEvicted(t *testing.T) {
	t.Parallel()
	vs, a := voters(0, "1", "2", "3"), candidate(t, "a")
	elect(t, a, opened, vs[:2]...)
	other, _ := candidate(t, "b").Ask(opened)
	vs[0].Withdraw(Withdrawal{a.term}) // nobody should
	vs[0].Vote(opened, other)
	vs[1].End(opened, 1)
	if o := round(t, a, opened, vs[0]); o != Open {
		t.Errorf("one is bound: got outcome %v; want %v", o, Open)
	}
	abstains := NewVoter("2", 1, trio, opened+1, 0)
	if o := round(t, a, opened, vs[0], abstains); o != Refused {
		t.Errorf("one is bound and one abstains: got outcome %v; want %v", o, Refused)
	}
	if !leads(a, opened) {
		t.Fatal("does not lead, but has lost nothing")
	}
	if o := round(t, a, opened, vs[0], vs[1]); o != Evicted {
		t.Errorf("got outcome %v; want %v", o, Evicted)
	}
	if _, ok := a.Ask(opened); ok || leads(a, opened) {
		t.Errorf("leads: %v, asks: %v; want neither", leads(a, opened), ok)
	}
	granted := vs[2].Vote(opened, Ask{Group: trio, Term: a.term, Round: 2, TTL: lease})
	if o := a.Count(opened, granted); o != Open {
		t.Errorf("a late vote while the job may live: got outcome %v; want %v", o, Open)
	}
	if a.Withdraw(); a.Count(opened, granted) != Ghost {
		t.Error("a late vote is not withdrawn")
	}
	if a.Campaign(); a.evicted {
		t.Error("the next term is evicted as well")
	}
	c := candidate(t, "c")
	if o := round(t, c, opened, vs[:2]...); o != Evicted || c.evicted {
		t.Errorf("a candidate with nothing: got outcome %v; want %v; evicted: %v", o, Evicted, c.evicted)
	}
}

// TestForeignVoters: a voter of another group does not count, and its token does not.
func TestForeignVoters(t *testing.T) {
	t.Parallel()
	vs, c := voters(0, "1", "2", "3"), candidate(t, "a")
	other := trio
	other.List = "another"
	for seat := range 2 {
		if o := round(t, c, opened, NewVoter("x", seat, other, 0, math.MaxUint64), vs[0], vs[1]); o != Won {
			t.Errorf("got outcome %v; want %v", o, Won)
		}
	}
	if token, _, _ := c.Lease(opened); token != 1 {
		t.Errorf("got token %d; want 1", token)
	}
	for _, seat := range []int{-1, 3, MaxSeats} {
		a, _ := c.Ask(opened)
		answer := vs[0].Vote(opened, a)
		answer.Seat = seat
		if o := c.Count(opened, answer); o != Open {
			t.Errorf("seat %d: got outcome %v; want %v", seat, o, Open)
		}
	}
}

// TestSeatsCount: a seat counts once in a round.
func TestSeatsCount(t *testing.T) {
	t.Parallel()
	v, c := voters(0, "1")[0], candidate(t, "a")
	if o := round(t, c, opened, v, v); o != Open {
		t.Errorf("got outcome %v; want %v", o, Open)
	}
	abstains := NewVoter("1'", 0, trio, opened+1, 0)
	if o := round(t, c, opened, v, abstains, v); o != Open {
		t.Errorf("got outcome %v; want %v", o, Open)
	}
	next := NewVoter("2", 1, trio, opened, 0)
	if o := round(t, c, opened, v, abstains, next); o != Won {
		t.Errorf("one that has voted abstains: got outcome %v; want %v", o, Won)
	}
	if o := round(t, c, opened, abstains, v, next); o != Open {
		t.Errorf("one that abstains has voted: got outcome %v; want %v", o, Open)
	}
}

// TestVoterCounts: a voter counts once in a round, in whichever seat it answers. In another round it
// may have another seat.
func TestVoterCounts(t *testing.T) {
	t.Parallel()
	c := candidate(t, "a")
	here, there := NewVoter("1", 0, trio, opened, 0), NewVoter("1", 1, trio, opened, 0)
	if o := round(t, c, opened, here, there); o != Open {
		t.Errorf("in two seats: got outcome %v; want %v", o, Open)
	}
	if o := round(t, c, opened, there, NewVoter("2", 2, trio, opened, 0)); o != Won {
		t.Errorf("in another seat than before: got outcome %v; want %v", o, Won)
	}
}

// TestDoubt: a seat in which two voters vote does not count, until a longest lease later.
func TestDoubt(t *testing.T) {
	t.Parallel()
	vs := voters(0, "1", "2", "3")
	twin := NewVoter("1'", 0, trio, 0, 0)
	c := candidate(t, "a")
	if o := round(t, c, opened, vs[0], twin, vs[1]); o != Open {
		t.Errorf("in one round: got outcome %v; want %v", o, Open)
	}
	if o := round(t, c, opened, vs[0], vs[1]); o != Open {
		t.Errorf("in the next round: got outcome %v; want %v", o, Open)
	}
	if o := round(t, c, opened, vs[1], vs[2]); o != Won {
		t.Errorf("without the seat: got outcome %v; want %v", o, Won)
	}
	round(t, c, opened, vs[1], vs[2])
	c.Withdraw()
	c.Campaign()
	if o := round(t, c, opened.Add(lease)-1, vs[0], vs[1]); o != Open {
		t.Errorf("in the next term: got outcome %v; want %v", o, Open)
	}
	if o := round(t, c, opened.Add(lease), vs[0], vs[1]); o != Won {
		t.Errorf("a lease later: got outcome %v; want %v", o, Won)
	}
}

// TestDoubtDecides: a doubt may decide that a round cannot be won. Doubtful voters that are bound
// do not evict.
func TestDoubtDecides(t *testing.T) {
	t.Parallel()
	vs, a, b := voters(0, "1", "2", "3"), candidate(t, "a"), candidate(t, "b")
	ask, _ := b.Ask(opened)
	vs[2].Vote(opened, ask)
	twin := NewVoter("1'", 0, trio, 0, 0)
	if o := round(t, a, opened, vs[2], vs[0], twin); o != Refused {
		t.Errorf("got outcome %v; want %v", o, Refused)
	}
	twin.Vote(opened, ask)
	if o := round(t, a, opened, vs[2], twin); o != Refused {
		t.Errorf("got outcome %v; want %v", o, Refused)
	}
}

// TestDoubtLater: two voters that vote in different rounds are noticed, unless one may have
// followed the other.
func TestDoubtLater(t *testing.T) {
	t.Parallel()
	next := opened.Add(trusted(lease))
	for at, want := range map[clock.Instant]Outcome{opened: Open, next - 1: Open, next: Won} {
		vs, c := voters(0, "1", "2", "3"), candidate(t, "a")
		round(t, c, opened, vs[0])
		round(t, c, at, NewVoter("1'", 0, trio, at+1, 0)) // it abstains
		if o := round(t, c, at, NewVoter("1'", 0, trio, 0, 0), vs[1]); o != want {
			t.Errorf("%v later: got outcome %v; want %v", at.Sub(opened), o, want)
		}
	}
}

// TestDoubtAfterWin: a doubt that comes late changes nothing of the round that was won.
func TestDoubtAfterWin(t *testing.T) {
	t.Parallel()
	vs, c := voters(0, "1", "2", "3"), candidate(t, "a")
	elect(t, c, opened, vs[:2]...)
	if o := round(t, c, opened, vs[0], vs[1], NewVoter("1'", 0, trio, 0, 0)); o != Open || !leads(c, opened) {
		t.Errorf("got outcome %v, leads: %v", o, leads(c, opened))
	}
	if o := round(t, c, opened, vs[:2]...); o != Open || !leads(c, opened) {
		t.Errorf("got outcome %v, leads: %v", o, leads(c, opened))
	}
}
