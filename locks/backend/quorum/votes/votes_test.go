package votes

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// opened is a moment at which voters that started at 0 have opened.
const opened = clock.Instant(lease)

// voters returns voters that started at 0, one in each seat.
func voters(floor uint64, ids ...string) (all []*Voter) {
	for i, id := range ids {
		all = append(all, NewVoter(id, i, trio, opened, floor))
	}
	return all
}

func candidate(t *testing.T, id string) *Candidate {
	t.Helper()
	c, err := NewCandidate(id, trio, lease)
	if err != nil {
		t.Fatal(err)
	}
	c.Campaign()
	return c
}

// round lets voters answer a round at once, and returns the last outcome.
func round(t *testing.T, c *Candidate, now clock.Instant, voters ...*Voter) (o Outcome) {
	t.Helper()
	a, ok := c.Ask(now)
	if !ok {
		t.Fatalf("%v is over", a.Term)
	}
	for _, v := range voters {
		o = c.Count(now, v.Vote(now, a))
	}
	return o
}

// elect lets a candidate win two rounds, and returns its token.
func elect(t *testing.T, c *Candidate, now clock.Instant, voters ...*Voter) uint64 {
	t.Helper()
	for range 2 {
		if o := round(t, c, now, voters...); o != Won {
			t.Fatalf("got outcome %v; want %v", o, Won)
		}
	}
	token, e, ok := c.Lease(now)
	if !ok || e != now.Add(trusted(lease)) {
		t.Fatalf("got E %d, %v", e, ok)
	}
	return token
}

func TestTerm(t *testing.T) {
	t.Parallel()
	vs, a, b := voters(7, "1", "2", "3"), candidate(t, "a"), candidate(t, "b")
	if o := round(t, a, opened, vs[:2]...); o != Won {
		t.Fatalf("got outcome %v", o)
	}
	if _, _, ok := a.Lease(opened); ok {
		t.Error("leads before a majority has the token")
	}
	if o := round(t, a, opened, vs[:2]...); o != Won {
		t.Fatalf("got outcome %v", o)
	}
	if token, _, ok := a.Lease(opened); token != 8 || !ok {
		t.Errorf("got token %d, %v; want 8", token, ok)
	}
	if o := round(t, b, opened, vs[:2]...); o != Evicted {
		t.Errorf("got outcome %v; want %v", o, Evicted)
	}
	w := a.Withdraw()
	for _, v := range vs {
		v.Withdraw(b.Withdraw())
		v.Withdraw(w)
	}
	if _, _, ok := a.Lease(opened); ok {
		t.Error("leads after it has withdrawn")
	}
	if _, ok := a.Ask(opened); ok {
		t.Error("asks after it has withdrawn")
	}
	b.Campaign()
	if token := elect(t, b, opened, vs[1:]...); token != 9 {
		t.Errorf("got token %d; want 9", token)
	}
}

// TestRefusals: a voter says why it refuses.
func TestRefusals(t *testing.T) {
	t.Parallel()
	v := NewVoter("1", 2, trio, opened+5, 0)
	a, _ := candidate(t, "a").Ask(0)
	if got := v.Vote(opened, a); got.Vote != Abstains || got.Left != 5 || got.Seat != 2 {
		t.Errorf("got %+v", got)
	}
	now := opened + 5
	for name, change := range map[string]func(*Ask){
		"seats": func(a *Ask) { a.Group.Seats++ }, "longest": func(a *Ask) { a.Group.Longest++ },
		"list":     func(a *Ask) { a.Group.List = "another" },
		"too long": func(a *Ask) { a.TTL++ }, "no lease": func(a *Ask) { a.TTL = 0 },
	} {
		foreign := a
		change(&foreign)
		foreign.Token = math.MaxUint64
		if got := v.Vote(now, foreign); got.Vote != Foreign || got.Group != trio || got.Token != 0 || v.Token() != 0 {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got := v.Vote(now, a); got.Vote != Granted {
		t.Errorf("got %+v", got)
	}
	b, _ := candidate(t, "b").Ask(0)
	if got := v.Vote(now+1, b); got.Vote != Bound || got.To != a.Term || got.Named != 0 || got.Left != lease-1 {
		t.Errorf("got %+v", got)
	}
	a.Token = 3
	for range 2 { // a copy of the first request comes late
		v.Vote(now, a)
		if got := v.Vote(now, b); got.Named != 3 {
			t.Errorf("got %+v", got)
		}
		a.Token = 0
	}
}

// TestNotes: a voter notes the token of each request, also while it abstains.
func TestNotes(t *testing.T) {
	t.Parallel()
	vs, a := voters(0, "1", "2", "3"), candidate(t, "a")
	elect(t, a, opened, vs[:2]...)
	again := NewVoter("2'", 1, trio, opened.Add(lease), 0)
	round(t, a, opened, vs[0], again)
	if got := again.Token(); got != 1 {
		t.Errorf("got token %d; want 1", got)
	}
}

// TestFloor: where the only voter that knows the last token has started again, its floor
// decides whether tokens rise.
func TestFloor(t *testing.T) {
	t.Parallel()
	for floor, want := range map[uint64]uint64{0: 1, 1: 2, 100: 101} {
		vs := voters(0, "1", "2", "3")
		elect(t, candidate(t, "a"), opened, vs[:2]...)
		again := NewVoter("2'", 1, trio, opened.Add(lease), floor)
		if got := elect(t, candidate(t, "b"), opened.Add(lease), again, vs[2]); got != want {
			t.Errorf("floor %d: got token %d after 1; want %d", floor, got, want)
		}
	}
}

// TestLastToken: tokens do not start again from 0.
func TestLastToken(t *testing.T) {
	t.Parallel()
	c := candidate(t, "a")
	if o := round(t, c, opened, voters(math.MaxUint64, "1", "2", "3")...); o != Refused {
		t.Errorf("got outcome %v; want %v", o, Refused)
	}
	if _, _, ok := c.Lease(opened); ok {
		t.Error("leads without a token")
	}
}

// TestLastTokenOfAnother: who leads is renewed, whatever tokens others have.
func TestLastTokenOfAnother(t *testing.T) {
	t.Parallel()
	vs, c := voters(0, "1", "2", "3"), candidate(t, "a")
	elect(t, c, opened, vs[:2]...)
	vs[1].Vote(opened, Ask{trio, Term{"b", 1}, 2, lease, math.MaxUint64})
	if o := round(t, c, opened, vs[:2]...); o != Won {
		t.Errorf("got outcome %v; want %v", o, Won)
	}
}

// TestGhost: a vote for a term that is over is withdrawn, and no other.
func TestGhost(t *testing.T) {
	t.Parallel()
	v, c := voters(0, "1")[0], candidate(t, "a")
	late, _ := c.Ask(opened)
	c.Withdraw()
	c.Campaign()
	vote := v.Vote(opened, late)
	if o := c.Count(opened, vote); o != Ghost {
		t.Errorf("got outcome %v; want %v", o, Ghost)
	}
	v.Withdraw(Withdrawal{vote.Term})
	now, _ := c.Ask(opened)
	vote = v.Vote(opened, now)
	if o := c.Count(opened, vote); o != Open {
		t.Errorf("got outcome %v; want %v", o, Open)
	}
	vote.Term, vote.Vote = late.Term, Bound
	if o := c.Count(opened, vote); o != Open {
		t.Errorf("got outcome %v for a refusal that is late; want %v", o, Open)
	}
	vote.Vote = Granted
	other := candidate(t, "b")
	if o := other.Count(opened, vote); o != Open {
		t.Errorf("got outcome %v for a vote for another; want %v", o, Open)
	}
}

// TestLaterTerm: who campaigns again has withdrawn the term before, and does not go back.
func TestLaterTerm(t *testing.T) {
	t.Parallel()
	v, c := voters(0, "1")[0], candidate(t, "a")
	first, _ := c.Ask(opened)
	c.Campaign()
	second, _ := c.Ask(opened)
	for _, step := range []struct {
		ask  Ask
		want Vote
	}{{first, Granted}, {second, Granted}, {first, Bound}} {
		if got := v.Vote(opened, step.ask); got.Vote != step.want {
			t.Errorf("%v: got %q; want %q", step.ask.Term, got.Vote, step.want)
		}
	}
}

func TestNewCandidate(t *testing.T) {
	t.Parallel()
	for _, g := range []Group{{}, {MaxSeats + 1, lease, "x"}, {3, 0, "x"}, {3, lease - 1, "x"}, {3, MaxLongest + 1, "x"}, {3, lease, ""}} {
		if _, err := NewCandidate("a", g, lease); err == nil {
			t.Errorf("%+v is accepted", g)
		}
	}
	for _, ttl := range []time.Duration{-1, 0, shortest - 1, lease + 1} {
		if _, err := NewCandidate("a", trio, ttl); err == nil {
			t.Errorf("a lease of %v is accepted", ttl)
		}
	}
	if _, err := NewCandidate("a", Group{1, MaxLongest, "x"}, shortest); err != nil {
		t.Error(err)
	}
	c, err := NewCandidate("a", trio, lease)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Ask(opened); ok {
		t.Error("asks before it campaigns")
	}
}

// TestOneRefusal: one refusal of three does not decide a round.
func TestOneRefusal(t *testing.T) {
	t.Parallel()
	vs, c := voters(0, "1", "2", "3"), candidate(t, "b")
	other, _ := candidate(t, "a").Ask(opened)
	vs[0].Vote(opened, other)
	a, _ := c.Ask(opened)
	for i, want := range []Outcome{Open, Open, Won} {
		if o := c.Count(opened, vs[i].Vote(opened, a)); o != want {
			t.Errorf("answer %d: got outcome %v; want %v", i, o, want)
		}
	}
}

// TestGroup: a group has voters and leases.
func TestGroup(t *testing.T) {
	t.Parallel()
	for g, ok := range map[Group]bool{
		{1, 1, "x"}: true, {MaxSeats, MaxLongest, strings.Repeat("x", MaxID)}: true, {0, 1, "x"}: false, {MaxSeats + 1, 1, "x"}: false,
		{1, 0, "x"}: false, {1, MaxLongest + 1, "x"}: false, {1, 1, ""}: false, {1, 1, strings.Repeat("x", MaxID+1)}: false,
	} {
		if err := g.Check(); (err == nil) != ok {
			t.Errorf("%+v: %v", g, err)
		}
	}
}

// TestEnd: at E the term is over, and a round that began a lease ago counts no more answers.
func TestEnd(t *testing.T) {
	t.Parallel()
	vs, c := voters(0, "1", "2", "3"), candidate(t, "a")
	elect(t, c, opened, vs[:2]...)
	e := opened.Add(trusted(lease))
	if !leads(c, e-1) || leads(c, e) {
		t.Errorf("before E it leads: %v; at E: %v", leads(c, e-1), leads(c, e))
	}
	if _, ok := c.Ask(e); ok {
		t.Error("asks at E")
	}
	for at, want := range map[clock.Instant]Outcome{e - 1: Won, e: Open} {
		c := candidate(t, "b")
		a, _ := c.Ask(opened)
		for _, v := range voters(0, "1", "2") {
			if o := c.Count(at, v.Vote(at, a)); v.id == "2" && o != want {
				t.Errorf("%v after the request: got outcome %v; want %v", at.Sub(opened), o, want)
			}
		}
	}
}

// TestBound: a voter knows whom it is bound to, until that ends.
func TestBound(t *testing.T) {
	t.Parallel()
	v := voters(0, "1")[0]
	a, _ := candidate(t, "a").Ask(opened)
	v.Vote(opened, a)
	for at, want := range map[clock.Instant]Term{opened: a.Term, opened.Add(lease) - 1: a.Term, opened.Add(lease): {}} {
		to, _, left := v.Bound(at)
		if to != want || left != max(0, opened.Add(lease).Sub(at)) {
			t.Errorf("%v after the vote: bound to %v for %v; want %v", at.Sub(opened), to, left, want)
		}
		other, _ := candidate(t, "b").Ask(at)
		free := *v
		if got := free.Vote(at, other).Vote; (got == Granted) != (want == Term{}) {
			t.Errorf("%v after the vote: another's request gets %q", at.Sub(opened), got)
		}
	}
}
