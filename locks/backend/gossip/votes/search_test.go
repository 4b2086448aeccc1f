package votes

import (
	"fmt"
	"hash/maphash"
	"slices"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// A world is one state of a small model: three voters and two candidates. Whatever was sent
// stays in the network for ever, and arrives at any time, more than once, or never.
//
// All clocks of voters are as fast as they may be, and those of candidates as slow. That is
// the worst case: it ends promises early and leases late.
type world struct {
	now         int64
	voters      [3]Voter
	candidates  [2]Candidate
	asks        []Ask
	answers     []Answer // those that grant
	withdrawals []Withdrawal
	greatest    uint64 // of the tokens that were granted
	bounds      bounds // what may still happen
}

// bounds make the number of worlds finite.
type bounds struct {
	terms, rounds  [2]int // of each candidate
	restarts, ends int    // of voters; by withdrawal
	late           int    // requests that arrive after a round, answers after something else
	ticks          int    // times that time passes
}

var (
	fast = rate{ppm: 500}
	slow = rate{ppm: -500}
	trio = Group{Seats: 3, Longest: lease}
)

// begin returns the world in which all voters have been there for long.
func begin(t *testing.T, b bounds) *world {
	w := &world{now: int64(10 * lease), bounds: b}
	for i := range w.voters {
		w.voters[i] = *NewVoter(fmt.Sprint(i), trio, fast.at(0), 0)
	}
	for i := range w.candidates {
		c, err := NewCandidate(string(rune('A'+i)), trio, lease)
		if err != nil {
			t.Fatal(err)
		}
		w.candidates[i] = *c
	}
	return w
}

// clone returns a copy. Slices are shared until they grow.
func (w *world) clone() *world {
	n := *w
	n.asks, n.answers, n.withdrawals = slices.Clip(w.asks), slices.Clip(w.answers), slices.Clip(w.withdrawals)
	for i := range n.candidates {
		n.candidates[i].voters = slices.Clip(n.candidates[i].voters)
	}
	return &n
}

// A search visits all worlds that can be reached.
type search struct {
	seen map[uint64]bool
	seed maphash.Seed
	path []func() string // how the present one was reached
	err  error
}

func (s *search) visit(w *world) {
	k := s.key(w)
	if s.err != nil || s.seen[k] {
		return
	}
	s.seen[k] = true
	s.time(w)
	for i := range w.candidates {
		s.act(w, i)
	}
	for i := range w.voters {
		s.deliver(w, i)
	}
	for _, a := range w.answers {
		s.step(w, func() string { return fmt.Sprintf("%v gets %+v", a.Term, a) }, func(w *world) error {
			return w.count(a)
		})
	}
}

// step visits the world that a change leads to.
func (s *search) step(w *world, what func() string, change func(w *world) error) {
	if s.err != nil {
		return
	}
	n := w.clone()
	err := change(n)
	if n.bounds.late < 0 {
		return
	}
	s.path = append(s.path, what)
	if s.err = err; err != nil {
		for _, what := range s.path {
			s.err = fmt.Errorf("%w\n%s", s.err, what())
		}
		return
	}
	s.visit(n)
	s.path = s.path[:len(s.path)-1]
}

// act lets a candidate begin a round or a term, or end a term.
func (s *search) act(w *world, i int) {
	c, left := &w.candidates[i], w.bounds
	over := c.over(slow.at(w.now))
	if left.rounds[i] > 0 && (!over || left.terms[i] > 0) {
		s.step(w, func() string { return fmt.Sprintf("%v asks", c.term) }, func(w *world) error {
			if over {
				w.bounds.terms[i]--
				w.candidates[i].Campaign()
			}
			w.bounds.rounds[i]--
			a, _ := w.candidates[i].Ask(slow.at(w.now))
			w.asks = append(w.asks, a)
			return nil
		})
	}
	if left.ends > 0 && !c.withdrawn {
		s.step(w, func() string { return fmt.Sprintf("%v ends", c.term) }, func(w *world) error {
			w.bounds.ends--
			w.withdraw(w.candidates[i].Withdraw())
			return nil
		})
	}
}

func (w *world) withdraw(a Withdrawal) {
	if !slices.Contains(w.withdrawals, a) {
		w.withdrawals = append(w.withdrawals, a)
	}
}

// deliver delivers what is in the network to a voter, or restarts it.
func (s *search) deliver(w *world, i int) {
	v := w.voters[i]
	for _, a := range w.asks {
		voted := v // a copy
		answer := voted.Vote(fast.at(w.now), a)
		s.step(w, func() string { return fmt.Sprintf("%s gets %+v, and is heard", v.id, a) }, func(w *world) error {
			w.late(a)
			w.voters[i] = voted
			return w.count(answer)
		})
		if answer.Vote != Granted || slices.Contains(w.answers, answer) {
			continue
		}
		s.step(w, func() string { return fmt.Sprintf("%s gets %+v", v.id, a) }, func(w *world) error {
			w.late(a)
			w.bounds.late--
			w.voters[i] = voted
			w.answers = append(w.answers, answer)
			return nil
		})
	}
	for _, a := range w.withdrawals {
		freed := v
		if freed.Withdraw(a); freed == v {
			continue
		}
		s.step(w, func() string { return fmt.Sprintf("%s gets the end of %v", v.id, a.Term) }, func(w *world) error {
			w.voters[i] = freed
			return nil
		})
	}
	if w.bounds.restarts > 0 {
		s.step(w, func() string { return v.id + " starts again" }, func(w *world) error {
			w.bounds.restarts--
			w.voters[i] = *NewVoter(v.id+"'", trio, fast.at(w.now), v.Token())
			return nil
		})
	}
}

// late notes that a request is delivered.
func (w *world) late(a Ask) {
	if c := &w.candidates[a.Term.Candidate[0]-'A']; c.term != a.Term || c.round != a.Round || c.over(slow.at(w.now)) {
		w.bounds.late--
	}
}

// count lets a candidate count an answer, and checks the promises.
func (w *world) count(a Answer) error {
	i := int(a.Term.Candidate[0] - 'A')
	c, other, now := &w.candidates[i], &w.candidates[1-i], slow.at(w.now)
	led := leads(c, now)
	switch c.Count(now, a) {
	case Ghost:
		w.withdraw(Withdrawal{a.Term})
	case Crowded:
		return fmt.Errorf("%v sees too many voters", c.term)
	}
	if led || !leads(c, now) {
		return nil
	}
	if leads(other, now) {
		return fmt.Errorf("%v and %v lead", c.term, other.term)
	}
	if c.token <= w.greatest {
		return fmt.Errorf("token %d after %d", c.token, w.greatest)
	}
	w.greatest = c.token
	return nil
}

// time passes, until something that depends on it has changed, or is about to change.
func (s *search) time(w *world) {
	if w.bounds.ticks == 0 {
		return
	}
	next := []int64{w.now + int64(lease)/2}
	for i := range w.voters {
		next = append(next, fast.first(w.voters[i].opens), fast.first(w.voters[i].until))
	}
	for i := range w.candidates {
		c := &w.candidates[i]
		next = append(next, slow.first(c.deadline)-1, slow.first(c.sent.Add(trusted(lease)))-1)
	}
	slices.Sort(next)
	for _, t := range slices.Compact(next) {
		if t > w.now {
			s.step(w, func() string { return fmt.Sprintf("it is %d", t) }, func(w *world) error {
				w.bounds.ticks--
				w.now = t
				return nil
			})
		}
	}
}

// key returns a number for all that matters of a world. What is in the network is a set, and
// so are the voters, each with its answers: which is which does not matter.
func (s *search) key(w *world) uint64 {
	type rest struct {
		now      int64
		greatest uint64
		bounds   bounds
	}
	k := hash(s, rest{w.now, w.greatest, w.bounds})
	for i := range w.voters {
		k += s.keyOf(w, i)
	}
	for i := range w.candidates {
		c := &w.candidates[i]
		k += hash(s, c.term) + 3*hash(s, [...]bool{i == 0, c.withdrawn, c.recorded, c.won}) +
			5*hash(s, [...]int64{int64(i), int64(c.token), int64(c.greatest), int64(c.round), int64(c.deadline), int64(c.sent), int64(c.grants)})
	}
	for _, a := range w.asks {
		k += hash(s, a)
	}
	for _, a := range w.withdrawals {
		k += hash(s, a)
	}
	return k
}

func (s *search) keyOf(w *world, i int) uint64 {
	v, seat := w.voters[i], w.voters[i].id[:1]
	v.id = v.id[1:]
	if now := fast.at(w.now); true {
		v.opens = max(v.opens, now)
		if now >= v.until {
			v.bound, v.until = Term{}, 0
		}
	}
	k := hash(s, v)
	for _, a := range w.answers {
		if a.Voter[:1] == seat {
			a.Voter = a.Voter[1:]
			k += hash(s, a)
		}
	}
	for i := range w.candidates {
		for _, id := range w.candidates[i].voters {
			if id[:1] == seat {
				k += uint64(i+1) * hash(s, id[1:])
			}
		}
	}
	return hash(s, k)
}

func hash[T comparable](s *search, x T) uint64 { return maphash.Comparable(s.seed, x) }

// TestSearch visits each state that two candidates and three voters can reach within some
// bounds. The larger ones take a minute.
func TestSearch(t *testing.T) {
	t.Parallel()
	one, two := [2]int{1, 1}, [2]int{2, 1}
	few := 4
	if raced { // there is one goroutine
		few = 1
	}
	for i, b := range []bounds{
		{terms: one, rounds: [2]int{2, 2}, restarts: 1},
		{terms: one, rounds: [2]int{1, 1}, restarts: 1, ticks: 1},
		{terms: one, rounds: [2]int{2, 2}, ticks: 1},
		{terms: two, rounds: [2]int{3, 2}, ends: 1},
		{terms: one, rounds: [2]int{2, 2}, restarts: 1, ticks: 1},
		{terms: two, rounds: [2]int{3, 2}, ends: 1, late: 1},
		{terms: one, rounds: [2]int{2, 2}, ticks: 1, late: 1},
		{terms: one, rounds: [2]int{3, 2}, ticks: 2},
		{terms: one, rounds: [2]int{2, 2}, restarts: 1, late: 1},
	} {
		if i >= few && !tester.Long() {
			break
		}
		t.Run(fmt.Sprintf("%+v", b), func(t *testing.T) {
			s := &search{seen: map[uint64]bool{}, seed: maphash.MakeSeed()}
			s.visit(begin(t, b))
			if t.Logf("%d states", len(s.seen)); s.err != nil {
				t.Error(s.err)
			}
		})
	}
}
