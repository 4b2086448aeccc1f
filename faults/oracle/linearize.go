package oracle

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// A result is what porcupine says about a history. If it is illegal, it becomes so with
// term number to, counted from 0, and the terms before number from are not needed for
// that.
type result struct {
	porcupine.CheckResult
	from, to int
}

// A piece is a run of consecutive terms of a history that are checked alone.
type piece struct {
	from, to int    // the first, and the one after the last
	last     uint64 // token before
}

// pieces cuts a history where only waiting and giving up was under way: all earlier
// operations had been called, and no later one had returned. There the earlier ones can
// be put in order without the later ones, and the whole is legal if and only if the
// pieces are. Overlapping terms are never separated. A piece is as short as possible
// above a least number of terms, because porcupine's time grows with the square of the
// length.
func (f *fence) pieces(terms int) (all []piece) {
	n := len(f.ops)
	earliest := make([]int64, n+1) // return of anything from this term on
	earliest[n] = math.MaxInt64
	for i := n - 1; i >= 0; i-- {
		earliest[i] = earliest[i+1]
		for _, op := range f.ops[i] {
			earliest[i] = min(earliest[i], op.Return)
		}
	}
	latest := int64(math.MinInt64) // call of anything until this term
	p := piece{}
	last := uint64(0)
	for i, ops := range f.ops {
		for _, op := range ops {
			latest = max(latest, op.Call)
		}
		last = max(last, f.terms[i].token)
		if i+1 == n || i+1-p.from >= terms && latest < earliest[i+1] {
			p.to = i + 1
			all = append(all, p)
			p = piece{from: i + 1, last: last}
		}
	}
	return all
}

// enough is how many terms a piece has at least.
const enough = 64

// check checks a history, and finds out where it is illegal.
func (f *fence) check(patience time.Duration) result {
	end := time.Now().Add(patience)
	verdict := func(p piece) porcupine.CheckResult {
		left := max(time.Until(end), 1) // 0 would be without a limit
		return porcupine.CheckOperationsTimeout(fencedMutex(f.tokens, p.last), slices.Concat(f.ops[p.from:p.to]...), left)
	}
	for _, p := range f.pieces(enough) {
		switch r := verdict(p); r {
		case porcupine.Ok:
		case porcupine.Illegal:
			from, to := narrow(p, func(p piece) bool { return verdict(p) != porcupine.Ok })
			return result{r, from, to}
		default:
			return result{CheckResult: r}
		}
	}
	return result{CheckResult: porcupine.Ok}
}

// narrow finds the first term that makes a piece illegal, and the latest term at which
// the piece can begin and still be illegal. A legal history stays legal without some of
// its terms, so both can be found by bisection.
func narrow(p piece, illegal func(piece) bool) (from, to int) {
	to = p.from + sort.Search(p.to-p.from-1, func(n int) bool {
		return illegal(piece{p.from, p.from + n + 1, p.last})
	})
	far := 1
	for far < to && !illegal(piece{from: to - far, to: to + 1}) {
		far *= 2
	}
	far = min(far, to)
	return to - sort.Search(far, func(n int) bool { return illegal(piece{from: to - n, to: to + 1}) }), to
}

// around returns the numbers of the terms to show for an illegal history: the two, and
// some that existed at that time. If these alone are not illegal, it returns all terms
// between the two.
func (f *fence) around(r result) (chosen []int) {
	const before, after = 3, 1
	if r.from < r.to-before {
		chosen = append(chosen, r.from)
	}
	for i := max(0, r.to-before); i <= min(r.to+after, len(f.ops)-1); i++ {
		chosen = append(chosen, i)
	}
	if porcupine.CheckOperationsTimeout(fencedMutex(f.tokens, 0), f.chosen(chosen), time.Minute) == porcupine.Illegal {
		return chosen
	}
	for chosen = nil; r.from <= r.to; r.from++ {
		chosen = append(chosen, r.from)
	}
	return chosen
}

func (f *fence) chosen(terms []int) (ops []porcupine.Operation) {
	for _, i := range terms {
		ops = append(ops, f.ops[i]...)
	}
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return ops
}
