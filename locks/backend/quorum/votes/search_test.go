package votes

import (
	"fmt"
	"hash/maphash"
	"slices"
	"testing"
)

// A world is one state of a small model: three voters and two candidates. Whatever was sent
// stays in the network for ever, and arrives at any time, more than once, or never.
//
// All clocks of voters are as fast as they may be, and those of candidates as slow. That is
// the worst case: it ends promises early and leases late. A voter that starts again and
// continues its promises changes nothing, so it is not in the model.
type world struct {
	now         int64
	fast, slow  rate
	voters      [4]Voter
	stopped     [4]bool // the last one is, unless the list changes
	steps       int     // of the change that were taken
	candidates  [2]Candidate
	asks        []Ask
	answers     []Answer // those that grant
	withdrawals []Withdrawal
	told        [4]Term   // what each voter was told to end
	last        [2]uint64 // the round in which a majority had been told to end the term; 0: not yet
	greatest    uint64    // of the tokens that were granted
	anyToken    bool      // tokens are not looked at
	bounds      bounds    // what may still happen
}

// bounds make the number of worlds finite.
type bounds struct {
	terms, rounds  [2]int // of each candidate
	restarts, ends int    // of voters that lose their promises; by withdrawal
	stops          int    // times that an operator tells a voter to end a term
	late           int    // requests that arrive after a round, answers after something else
	ticks, jumps   int    // times that time passes, and that readings are wrong by delta
}

var (
	trio  = Group{Seats: 3, Longest: lease, List: "trio"}
	other = Group{Seats: 3, Longest: lease, List: "other"} // the seats of 0, 1 and 3
)

// begin returns the world in which all voters have been there for long.
func (s *search) begin(t *testing.T, b bounds) *world {
	w := &world{now: int64(10 * lease), bounds: b, anyToken: s.anyToken, fast: rate{ppm: s.ppm}, slow: rate{ppm: -s.ppm}}
	for i := range trio.Seats {
		w.voters[i] = *NewVoter(fmt.Sprint(i), i, trio, w.fast.at(int64(lease)), 0)
	}
	w.stopped[3] = true
	for i := range w.candidates {
		g := trio
		if i == 1 && len(s.steps) > 0 {
			g = other
		}
		c, err := NewCandidate(string(rune('A'+i)), g, lease)
		if err != nil {
			t.Fatal(err)
		}
		w.candidates[i] = *c
	}
	return w
}

// A search visits all worlds that can be reached.
type search struct {
	seen map[uint64]bool
	seed maphash.Seed
	path []func() string // how the present one was reached
	err  error
	free []*world // to use again
	// The steps of a change of the list. Then B has the other one.
	steps    []func(w *world)
	anyToken bool
	// How wrong clocks are: their rates, and the time between two readings.
	ppm, jump int64
	// What a voter does although it must not: see TestSearchFlaws.
	keepsLate, forgetsOpens, endFrees bool
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
		if !w.stopped[i] {
			s.deliver(w, i)
		}
	}
	if w.steps < len(s.steps) {
		s.step(w, func() string { return fmt.Sprintf("step %d of the change", w.steps+1) }, func(w *world) error {
			s.steps[w.steps](w)
			w.steps++
			return nil
		})
	}
	for _, a := range w.answers {
		s.step(w, func() string { return fmt.Sprintf("%v gets %+v", a.Term, a) }, func(w *world) error {
			return w.count(a)
		})
	}
}

// clone returns a copy. Slices are shared until they grow.
func (s *search) clone(w *world) (n *world) {
	if last := len(s.free) - 1; last >= 0 {
		n, s.free = s.free[last], s.free[:last]
	} else {
		n = new(world)
	}
	*n = *w
	n.asks, n.answers, n.withdrawals = slices.Clip(w.asks), slices.Clip(w.answers), slices.Clip(w.withdrawals)
	return n
}

// step visits the world that a change leads to.
func (s *search) step(w *world, what func() string, change func(w *world) error) {
	if s.err != nil {
		return
	}
	n := s.clone(w)
	defer func() { s.free = append(s.free, n) }()
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
	over := c.over(w.slow.at(w.now))
	if left.rounds[i] > 0 && (!over || left.terms[i] > 0) {
		s.step(w, func() string { return fmt.Sprintf("%v asks", c.term) }, func(w *world) error {
			if over {
				w.bounds.terms[i]--
				w.candidates[i].Campaign()
			}
			w.bounds.rounds[i]--
			a, _ := w.candidates[i].Ask(w.slow.at(w.now))
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
		answer := voted.Vote(w.fast.at(w.now), a)
		s.step(w, func() string { return fmt.Sprintf("%s gets %+v, and is heard", v.id, a) }, func(w *world) error {
			w.late(a)
			w.voters[i] = voted
			return w.count(answer)
		})
		if s.keepsLate && answer.Vote == Granted {
			s.step(w, func() string { return fmt.Sprintf("%s gets %+v, is heard, and dies before it has kept that", v.id, a) }, func(w *world) error {
				w.late(a)
				return w.count(answer)
			})
		}
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
	s.restart(w, i)
	s.stop(w, i)
}

// restart lets a voter lose its promises, or one that has lost them continue what is left.
func (s *search) restart(w *world, i int) {
	v := w.voters[i]
	if w.bounds.restarts == 0 {
		return
	}
	s.step(w, func() string { return v.id + " starts again" }, func(w *world) error {
		w.bounds.restarts--
		now := w.fast.at(w.now)
		w.voters[i] = *NewVoter(v.id+"'", i, trio, now.Add(trio.Longest), v.Token())
		return nil
	})
	if s.forgetsOpens {
		s.step(w, func() string { return v.id + " continues" }, func(w *world) error {
			w.bounds.restarts--
			w.voters[i] = *NewVoter(v.id, i, trio, 0, v.Token())
			w.voters[i].Continue(v.Promise())
			return nil
		})
	}
}

// stop lets an operator tell a voter to end the term that it is bound to.
func (s *search) stop(w *world, i int) {
	v := w.voters[i]
	if w.bounds.stops == 0 || v.named == 0 || v.ended == v.bound {
		return
	}
	s.step(w, func() string { return fmt.Sprintf("%s is told that %v has ended", v.id, v.bound) }, func(w *world) error {
		w.bounds.stops--
		if v := &w.voters[i]; v.End(w.fast.at(w.now), v.named) {
			c := &w.candidates[v.bound.Candidate[0]-'A']
			if w.told[i] = v.bound; w.majorityTold(v.bound) && c.term == v.bound {
				w.last[v.bound.Candidate[0]-'A'] = c.round
			}
			if s.endFrees {
				v.bound, v.until = Term{}, 0
			}
		}
		return nil
	})
}

func (w *world) majorityTold(t Term) bool {
	n := 0
	for _, told := range w.told {
		if told == t {
			n++
		}
	}
	return n >= trio.Majority()
}

// late notes that a request is delivered.
func (w *world) late(a Ask) {
	if c := &w.candidates[a.Term.Candidate[0]-'A']; c.term != a.Term || c.round != a.Round || c.over(w.slow.at(w.now)) {
		w.bounds.late--
	}
}

// count lets a candidate count an answer, and checks the promises.
func (w *world) count(a Answer) error {
	i := int(a.Term.Candidate[0] - 'A')
	c, other, now := &w.candidates[i], &w.candidates[1-i], w.slow.at(w.now)
	led, granted := leads(c, now), c.recorded && !c.over(now)
	switch c.Count(now, a) {
	case Ghost:
		w.withdraw(Withdrawal{a.Term})
	case Won:
		if last := w.last[i]; w.majorityTold(c.term) && c.round > last {
			return fmt.Errorf("%v is renewed after it was ended", c.term)
		}
	case Evicted:
		if granted && w.told == [4]Term{} {
			return fmt.Errorf("%v is evicted, and nobody has ended it", c.term)
		}
	}
	if led || !leads(c, now) {
		return nil
	}
	if leads(other, now) {
		return fmt.Errorf("%v and %v lead", c.term, other.term)
	}
	if c.token <= w.greatest && !w.anyToken {
		return fmt.Errorf("token %d after %d", c.token, w.greatest)
	}
	w.greatest = c.token
	return nil
}

// time passes, until something that depends on it has changed, or is about to change. Readings
// may be wrong by delta from then on, in the worst way.
func (s *search) time(w *world) {
	if w.bounds.ticks == 0 {
		return
	}
	s.pass(w, 0)
	if w.bounds.jumps > 0 {
		s.pass(w, 1)
	}
}

func (s *search) pass(w *world, jumps int) {
	ahead, behind := w.fast, w.slow
	ahead.offset += int64(jumps) * s.jump
	behind.offset -= int64(jumps) * s.jump
	next := []int64{w.now + int64(lease)/2}
	for i := range w.voters { // also a seat that is stopped: its votes count
		next = append(next, ahead.first(w.voters[i].opens), ahead.first(w.voters[i].until))
	}
	for i := range w.candidates {
		c := &w.candidates[i]
		next = append(next, behind.first(c.deadline)-1, behind.first(c.sent.Add(trusted(lease)))-1)
	}
	slices.Sort(next)
	for _, t := range slices.Compact(next) {
		if t > w.now {
			s.step(w, func() string { return fmt.Sprintf("it is %d, after %d jumps", t, jumps) }, func(w *world) error {
				w.bounds.ticks--
				w.bounds.jumps -= jumps
				w.now, w.fast, w.slow = t, ahead, behind
				return nil
			})
		}
	}
}
