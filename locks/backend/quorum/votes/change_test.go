package votes

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// A change is what an operator does to another list of seats, step by step, while runs with the
// old list and with the new one contend.
type change struct {
	hosts    int
	old, new list
	steps    []step
}

// A step changes one voter.
type step struct {
	waits bool // for a lease, before it
	do    func(s *schedule)
}

// stops stops the voter of a host, for good or until it is moved.
func stops(h int, waits bool) step {
	return step{waits, func(s *schedule) {
		v := s.hosts[h].seats[0]
		s.trace("the voter of %d is stopped", h)
		v.alive, v.retired = false, true
	}}
}

// moves starts the voter of a host with another list. It knows the tokens that the voter of the
// host from has noted, whose place it takes.
func moves(h, from int, to *list, waits bool) step {
	return step{waits, func(s *schedule) {
		host := s.hosts[h]
		if len(host.seats) == 0 {
			host.seats = []*seat{{process: process{host: host}}}
		}
		v := host.seats[0]
		s.trace("the voter of %d is moved to %q", h, to.group.List)
		if old := s.hosts[from].seats[0]; old.file > v.file {
			v.file = old.file
		}
		v.alive, v.retired = false, false
		v.list, v.index = to, slices.Index(to.hosts, h)
		s.stand(v)
	}}
}

// lists returns a change from the first hosts to others.
func lists(from int, longest time.Duration, to ...int) *change {
	c := &change{hosts: max(from, slices.Max(to)+1) + 1, old: list{group: Group{from, lease, "old"}}}
	c.new = list{Group{len(to), longest, "new"}, to}
	for h := range from {
		c.old.hosts = append(c.old.hosts, h)
	}
	return c
}

// replace replaces the last of n hosts. If back is set, that is undone in the end.
func replace(n int, waits, back bool) *change {
	var kept []int
	for h := range n - 1 {
		kept = append(kept, h)
	}
	c := lists(n, lease, append(slices.Clone(kept), n)...)
	for _, way := range []struct {
		from, to int
		list     *list
	}{{n - 1, n, &c.new}, {n, n - 1, &c.old}}[:1+btoi(back)] {
		c.steps = append(c.steps, stops(way.from, waits))
		for _, h := range kept {
			c.steps = append(c.steps, moves(h, h, way.list, waits))
		}
		c.steps = append(c.steps, moves(way.to, way.from, way.list, waits))
	}
	return c
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// resize changes N, or the longest lease.
func resize(from, to int, longest time.Duration, waits bool) *change {
	var all []int
	for h := range to {
		all = append(all, h)
	}
	c := lists(from, longest, all...)
	for h := range from {
		c.steps = append(c.steps, stops(h, false))
	}
	for h := range to {
		c.steps = append(c.steps, moves(h, h, &c.new, waits && h == 0))
	}
	return c
}

// schedule returns a schedule with the first steps.
func (c *change) schedule(seed uint64, steps int, f flaws) *schedule {
	s := newSchedule(seed, c.hosts, len(c.old.hosts), 4, f)
	for _, r := range s.runs[:2] {
		r.list = &c.new
	}
	// Where the number of seats changes, two majorities may have no seat in common. Then only
	// dates let tokens rise.
	s.files = s.files && len(c.old.hosts) == len(c.new.hosts)
	at := 2*int64(lease) + s.upTo(int64(lease)) // somebody leads by then, as a rule
	for _, step := range c.steps[:steps] {
		if at += s.upTo(int64(lease) / 16); step.waits {
			at += wrong(int64(lease), 1000) // the operator's clock is wrong as well
		}
		s.after(at, func() { step.do(s) })
	}
	s.healed = max(at+2*int64(lease), s.healed/2)
	s.waiting = false
	s.after(s.healed, func() { s.waiting = s.majority(c) })
	return s
}

// majority reports whether a majority of one of the lists stands.
func (s *schedule) majority(c *change) bool {
	stand := map[string]int{}
	for _, h := range s.hosts {
		for _, v := range h.seats {
			if !v.retired {
				stand[v.list.group.List]++
			}
		}
	}
	return stand["old"] >= c.old.group.Majority() || stand["new"] >= c.new.group.Majority()
}

// TestChanges plays each prefix of the changes that the documentation allows.
func TestChanges(t *testing.T) {
	t.Parallel()
	all := map[string]*change{
		"3 to 5": resize(3, 5, lease, true), "5 to 3": resize(5, 3, lease, true),
		"3 to 4": resize(3, 4, lease, true), "4 to 3": resize(4, 3, lease, true),
		"a shorter lease": resize(3, 3, lease/4, true), "a longer lease": resize(3, 3, 2*lease, true),
		"one of 3, and back": replace(3, true, true), "one of 3, and back, without waiting": replace(3, false, true),
	}
	for n := 2; n <= 5; n++ {
		all[fmt.Sprintf("one of %d", n)] = replace(n, true, false)
		all[fmt.Sprintf("one of %d, without waiting", n)] = replace(n, false, false)
	}
	schedules := 4
	switch {
	case raced: // there is one goroutine
		schedules = 1
	case tester.Long():
		schedules = 200
	}
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			elections := 0
			for steps := range len(c.steps) + 1 {
				for seed := range uint64(schedules) {
					s := c.schedule(seed, steps, flaws{})
					s.play()
					if elections += s.elections; len(s.wrong) > 0 {
						t.Fatalf("%d steps, seed %d: %q", steps, seed, s.wrong)
					}
				}
			}
			t.Logf("%d elections", elections)
		})
	}
}

// TestForbiddenChanges: what the documentation forbids makes two leaders, or lets a token fall.
func TestForbiddenChanges(t *testing.T) {
	t.Parallel()
	early, last, grows, unknown := lists(3, lease, 0, 1, 3), lists(3, lease, 0, 1, 3), lists(3, lease, 0, 1, 2, 3, 4), replace(3, false, false)
	early.steps = []step{moves(3, 3, &early.new, true), moves(0, 0, &early.new, true)}
	last.steps = []step{moves(0, 0, &last.new, true), moves(3, 3, &last.new, true), stops(2, true), moves(1, 1, &last.new, true)}
	grows.steps = []step{moves(0, 0, &grows.new, true), moves(3, 3, &grows.new, true), moves(4, 4, &grows.new, true)}
	unknown.steps[3] = moves(3, 3, &unknown.new, false)
	for name, c := range map[string]struct {
		*change
		flaws
		want string
	}{
		"the replaced voter is never stopped":              {early, flaws{}, "too"},
		"the replaced voter is stopped last":               {last, flaws{}, "too"},
		"more seats while voters stand":                    {grows, flaws{}, "too"},
		"a shorter lease, without waiting":                 {resize(3, 3, lease/4, false), flaws{}, "too"},
		"a voter that moved votes at once":                 {replace(3, false, false), flaws{anyGroup: true}, "too"},
		"the new voter does not know the replaced's token": {unknown, flaws{}, "has token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			find(t, c.want, func(seed uint64) *schedule { return c.schedule(seed, len(c.steps), c.flaws) })
		})
	}
}
