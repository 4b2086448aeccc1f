package votes

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// key returns a number for all that matters of a world. What is in the network is a set, and
// so are the voters, each with its answers: which is which matters only if the list changes.
func (s *search) key(w *world) uint64 {
	type rest struct {
		now      int64
		greatest uint64
		bounds   bounds
		last     [2]uint64
		jumped   int64
		steps    int
	}
	k := hash(s, rest{w.now, w.greatest, w.bounds, w.last, w.fast.offset, w.steps})
	for i := range w.voters {
		k += s.keyOf(w, i)
	}
	for i := range w.candidates {
		c := &w.candidates[i]
		type candidate struct {
			term                                 term
			withdrawn, evicted, recorded, won    bool
			token, greatest, round, before, asks uint64
		}
		k += 3 * hash(s, candidate{brief(c.term), c.withdrawn, c.evicted, c.recorded, c.won, c.token, c.greatest, c.round, uint64(c.deadline), uint64(c.sent)})
	}
	for _, a := range w.asks {
		k += 5 * hash(s, sent{brief(a.Term), a.Round, a.Token, ""})
	}
	for _, a := range w.withdrawals {
		k += 7 * hash(s, brief(a.Term))
	}
	return k
}

// A term is a Term, but faster to compare.
type term struct {
	candidate byte
	number    uint64
}

func brief(t Term) term {
	if t == (Term{}) {
		return term{}
	}
	return term{t.Candidate[0], t.Number}
}

// A sent is what is in the network.
type sent struct {
	term         term
	round, token uint64
	voter        string
}

func (s *search) keyOf(w *world, i int) uint64 {
	v, now := w.voters[i], w.fast.at(w.now)
	if v.id == "" { // there is none
		return 0
	}
	if now >= v.until {
		v.bound, v.until, v.named = Term{}, 0, 0
	}
	type voter struct {
		id                 string
		host               int
		stopped            bool
		opens, until       clock.Instant
		named, token       uint64
		bound, ended, told term
		answers            [2]Vote
	}
	host := 0
	if len(s.steps) > 0 {
		host = i
	}
	k := hash(s, voter{
		v.id[1:], host, w.stopped[i], max(v.opens, now), v.until, v.named, v.token, brief(v.bound), brief(v.ended), brief(w.told[i]),
		[2]Vote{w.candidates[0].answers[i], w.candidates[1].answers[min(i, 2)]},
	})
	for _, a := range w.answers {
		if a.Seat == i {
			k += 3 * hash(s, sent{brief(a.Term), a.Round, a.Token, a.Voter[1:]})
		}
	}
	if len(s.steps) > 0 || v.id[1:] == "" && w.bounds.restarts == 0 {
		return hash(s, k) // there is nobody else to claim the seat
	}
	for j := range w.candidates {
		if claim := w.candidates[j].seats[i]; claim.voter != "" {
			claim.voter = claim.voter[1:]
			k += uint64(2*j+5) * hash(s, claim)
		}
	}
	return hash(s, k)
}

func hash[T comparable](s *search, x T) uint64 { return maphash.Comparable(s.seed, x) }

// look visits all worlds that can be reached within some bounds, and returns how many.
func look(t *testing.T, s *search, b bounds) (int, error) {
	t.Helper()
	s.seen, s.seed = map[uint64]bool{}, maphash.MakeSeed()
	s.visit(s.begin(t, b))
	return len(s.seen), s.err
}

// TestSearch visits each state that two candidates and three voters can reach within some
// bounds. The larger ones take a minute.
func TestSearch(t *testing.T) {
	t.Parallel()
	one, two := [2]int{1, 1}, [2]int{2, 1}
	few := 6
	if raced { // there is one goroutine
		few = 1
	}
	for i, b := range []bounds{
		{terms: one, rounds: [2]int{2, 2}, restarts: 1},
		{terms: one, rounds: [2]int{1, 1}, restarts: 1, ticks: 1},
		{terms: one, rounds: [2]int{2, 2}, ticks: 1, jumps: 1},
		{terms: two, rounds: [2]int{3, 2}, ends: 1},
		{terms: one, rounds: [2]int{3, 1}, stops: 2},
		{terms: one, rounds: [2]int{1, 1}, restarts: 2, ticks: 1},
		{terms: one, rounds: [2]int{2, 2}, restarts: 1, ticks: 1, jumps: 1},
		{terms: two, rounds: [2]int{3, 2}, ends: 1, late: 1},
		{terms: one, rounds: [2]int{2, 2}, ticks: 1, jumps: 1, late: 1},
		{terms: one, rounds: [2]int{3, 2}, ticks: 2},
		{terms: one, rounds: [2]int{3, 2}, stops: 2, ticks: 1},
		{terms: one, rounds: [2]int{2, 2}, restarts: 1, late: 1},
	} {
		if i >= few && !tester.Long() {
			break
		}
		t.Run(fmt.Sprintf("%+v", b), func(t *testing.T) {
			n, err := look(t, &search{ppm: 500, jump: int64(delta)}, b)
			if t.Logf("%d states", n); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSearchFlaws: the search finds what is wrong.
func TestSearchFlaws(t *testing.T) {
	t.Parallel()
	if raced {
		return // there is one goroutine; make test also plays it without the race detector
	}
	one := [2]int{1, 1}
	for name, c := range map[string]struct {
		search
		bounds
	}{
		"a promise is kept after the answer":              {search{keepsLate: true}, bounds{terms: one, rounds: [2]int{2, 2}}},
		"a voter that continues forgets when it may vote": {search{forgetsOpens: true}, bounds{terms: one, rounds: [2]int{2, 2}, restarts: 2}},
		"a voter that is told to end a term is free":      {search{endFrees: true}, bounds{terms: one, rounds: [2]int{2, 2}, stops: 1}},
		"rates are wrong by more than the margin":         {search{ppm: 710}, bounds{terms: one, rounds: [2]int{2, 2}, ticks: 1}},
		"they are, a little, and readings jump":           {search{ppm: 501, jump: int64(delta)}, bounds{terms: one, rounds: [2]int{2, 2}, ticks: 1, jumps: 1}},
		"readings jump by more than the margin":           {search{ppm: 500, jump: int64(delta + 10*time.Microsecond)}, bounds{terms: one, rounds: [2]int{2, 2}, ticks: 1, jumps: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := look(t, &c.search, c.bounds)
			if t.Logf("%d states: %v", n, err); err == nil {
				t.Error("nothing is wrong")
			}
		})
	}
}

// ends stops a voter for good.
func ends(i int) func(w *world) { return func(w *world) { w.stopped[i] = true } }

// joins starts a voter with the other list. It knows the tokens of the one in whose place it is.
func joins(i, from int) func(w *world) {
	return func(w *world) {
		now, floor := w.fast.at(w.now), max(w.voters[i].Token(), w.voters[from].Token())
		w.voters[i] = *NewVoter(fmt.Sprint(i, "o"), min(i, 2), other, now.Add(lease), floor)
		w.stopped[i] = false
	}
}

// TestSearchChange: replacing a host makes two leaders only if the order is wrong. The steps may be
// at any time, so those of an operator who waits are in the search as well.
func TestSearchChange(t *testing.T) {
	t.Parallel()
	if raced {
		return // as in TestSearchFlaws
	}
	one := [2]int{1, 1}
	for name, c := range map[string]struct {
		steps []func(w *world)
		want  string
	}{
		"as documented":                {[]func(*world){ends(2), joins(0, 0), joins(1, 1), joins(3, 2)}, ""},
		"the new one does not know":    {[]func(*world){ends(2), joins(0, 0), joins(1, 1), joins(3, 3)}, "token 1 after 1"},
		"the replaced one still votes": {[]func(*world){joins(3, 2), joins(0, 0)}, "lead"},
		"it is stopped later":          {[]func(*world){joins(0, 0), joins(3, 2), ends(2)}, "lead"},
	} {
		if c.want == "lead" && !tester.Long() {
			continue // TestForbiddenChanges finds them as well
		}
		t.Run(name, func(t *testing.T) {
			b := bounds{terms: one, rounds: [2]int{2, 2}, ticks: 1}
			if tester.Long() && c.want == "" {
				b.rounds, b.ticks = [2]int{3, 2}, 2
			}
			n, err := look(t, &search{ppm: 500, jump: int64(delta), steps: c.steps, anyToken: c.want == "lead"}, b)
			if t.Logf("%d states", n); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v; want %q", err, c.want)
			}
		})
	}
}
