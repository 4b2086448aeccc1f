package oracle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// many are correct terms, on four hosts, each of which has begun to wait up to some terms
// before; each term has some writes.
func many(r *rand.Rand, n, writes, waiting int) []made {
	terms := make([]made, n)
	now := 1.0
	starts := make([]float64, n) // of the terms
	for i := range terms {
		m := &terms[i]
		starts[i] = now
		m.host, m.token, m.begun = fmt.Sprint("h", i%4), uint64(i+1), max(0.5, starts[max(0, i-r.IntN(waiting+1))]-0.1*r.Float64())
		m.first, m.last = now, now+0.5+r.Float64()
		m.begun = min(m.begun, m.first-0.01)
		m.ended = m.last + 0.001 + r.Float64()/2
		if r.IntN(3) == 0 {
			m.ended, m.cut = 0, true // as if killed
		}
		for range writes {
			call := m.first + r.Float64()*0.45
			m.writes = append(m.writes, wrote(call, call+0.01))
		}
		slices.SortFunc(m.writes, func(a, b trace.Entry) int { return int(a.At - b.At) })
		now = m.last + 0.002 + r.Float64()/5
	}
	return terms
}

// thousands returns as many terms, with as many writes in each, as an hour of faults has.
func thousands() []made { return many(rand.New(rand.NewPCG(1, 1)), 3000, 10, 300) }

// TestThousands checks that porcupine needs only seconds for a long history with hundreds
// of waiters at each moment, whether it is legal or not.
func TestThousands(t *testing.T) {
	t.Parallel()
	terms := thousands()
	for _, tt := range []struct {
		name     string
		defect   func()
		from, to int // of an illegal one
	}{
		{"legal", func() {}, 0, 0},
		{"refused at the end", func() { terms[2990].writes[3] = refused(terms[2990].first+0.1, terms[2990].first+0.2, 2991) }, 2990, 2990},
		{"long overlap", func() { terms[1000].last = terms[1500].first + 0.1 }, 1000, 1001},
	} {
		tt.defect()
		begin := time.Now()
		r := fenceOf(history(terms)).check(time.Minute)
		t.Logf("%s: %v in %v", tt.name, r, time.Since(begin))
		if want := (result{porcupine.Illegal, tt.from, tt.to}); tt.to > 0 && r != want {
			t.Errorf("%s: got %v, want %v", tt.name, r, want)
		}
		if tt.to == 0 && r.CheckResult != porcupine.Ok {
			t.Errorf("%s: got %v, want it legal", tt.name, r)
		}
	}
}

func fenceOf(h History) *fence {
	x, _ := h.terms(false)
	return newFence(x, h.of(trace.Write))
}

// TestUnknown gives porcupine no time: an unknown result is a failure.
func TestUnknown(t *testing.T) {
	t.Parallel()
	v := new(Verdict)
	v.linearize(fenceOf(history(thousands())), 1)
	if len(v.Wrong) != 1 || !strings.Contains(v.Wrong[0], "does not know") || v.String() == "" {
		t.Errorf("got %q", v.Wrong)
	}
}

// disturbed are terms of which some are moved, have the token of another, or are refused
// a write. There are few distinct moments, so that many events coincide.
func disturbed(r *rand.Rand) []made {
	terms := many(r, 3+r.IntN(10), r.IntN(3), 4)
	for range r.IntN(3) {
		m, n := &terms[r.IntN(len(terms))], &terms[r.IntN(len(terms))]
		switch r.IntN(4) {
		case 0:
			m.last += 2 * r.Float64()
		case 1:
			m.first -= r.Float64() / 2
		case 2:
			m.token = n.token
		case 3:
			if len(m.writes) > 0 {
				m.writes[0].Refused = true
			}
		}
	}
	for i := range terms {
		m := &terms[i]
		m.pid = 100 + i
		m.last -= 0.15 // leave time between most of them
		for _, x := range []*float64{&m.begun, &m.first, &m.last, &m.ended} {
			*x = math.Round(*x*10) / 10
		}
		m.last = max(m.last, m.first)
		for i := range m.writes {
			m.writes[i].Call, m.writes[i].At = at(m.first), at(m.first)
		}
	}
	return terms
}

// inPieces has porcupine check a history in pieces of at least the given number of terms.
func inPieces(f *fence, terms int) bool {
	for _, p := range f.pieces(terms) {
		if !porcupine.CheckOperations(fencedMutex(true, p.last), slices.Concat(f.ops[p.from:p.to]...)) {
			return false
		}
	}
	return true
}

// TestAgreement breaks short histories at random. Porcupine judges them whole and in
// pieces, and the other oracles judge them independently. All must agree.
func TestAgreement(t *testing.T) {
	t.Parallel()
	legal := 0
	const histories = 2000
	for seed := range uint64(histories) {
		h := history(disturbed(rand.New(rand.NewPCG(seed, 2))))
		x, _ := h.terms(false)
		writes := h.of(trace.Write)
		f := newFence(x, writes)
		v := new(Verdict)
		v.sweep(x.terms)
		v.register(x, writes)
		want := porcupine.CheckOperations(fencedMutex(true, 0), slices.Concat(f.ops...))
		if want {
			legal++
		}
		if a, b, c := inPieces(f, 1), inPieces(f, 3), len(v.Wrong) == 0; a != want || b != want || c != want {
			t.Errorf("seed %d: legal as a whole %v, in pieces %v and %v, by the others %v: %q", seed, want, a, b, c, v.Wrong)
		}
		r := f.check(time.Minute)
		if (r.CheckResult == porcupine.Ok) != want {
			t.Errorf("seed %d: legal as a whole %v, checked %v", seed, want, r)
		}
		if !want && porcupine.CheckOperations(fencedMutex(true, 0), slices.Concat(f.ops[r.from:r.to+1]...)) {
			t.Errorf("seed %d: the terms from %d to %d are legal", seed, r.from, r.to)
		}
	}
	if legal < histories/10 || legal > histories*9/10 {
		t.Errorf("this proves little: %d of %d are legal", legal, histories)
	}
	t.Logf("%d of %d are legal", legal, histories)
}
