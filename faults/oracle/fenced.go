package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/clock"
)

// The operations of a fenced mutex. A term enters at some moment between the start
// of its leaderrun and its first, and leaves between its last and the end of its
// leaderrun; one that was killed, or was not seen to end, at any moment after its
// last. A write is somewhere between its call and its answer.
const (
	enter = iota
	leave
	write
)

// An action is the input of an operation. There is no output: what a model refuses
// must not have happened.
type action struct {
	kind    int
	term    int // its number
	token   uint64
	refused bool
}

// A mutex is the model's state.
type mutex struct {
	holder int    // the number of a term; 0: it is free
	last   uint64 // token
}

// fencedMutex is the model. With tokens, each must be higher than the last.
func fencedMutex(tokens bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return mutex{} },
		Step: func(state, input, _ any) (bool, any) { return state.(mutex).step(input.(action), tokens) },
		DescribeOperation: func(input, _ any) string {
			a := input.(action)
			what := [...]string{enter: "enter", leave: "leave", write: "write"}[a.kind]
			if a.refused {
				what = "refused " + what
			}
			return fmt.Sprintf("%s %d", what, a.token)
		},
		DescribeState: func(state any) string {
			m := state.(mutex)
			if m.holder == 0 {
				return fmt.Sprintf("free, last token %d", m.last)
			}
			return fmt.Sprintf("held by term %d, token %d", m.holder, m.last)
		},
	}
}

func (m mutex) step(a action, tokens bool) (bool, mutex) {
	switch a.kind {
	case enter:
		return m.holder == 0 && (!tokens || a.token > m.last), mutex{a.term, a.token}
	case leave:
		return m.holder == a.term, mutex{0, m.last}
	default:
		return m.holder == a.term && !a.refused, m
	}
}

// A fence is a history as operations on a fenced mutex, by terms.
type fence struct {
	model porcupine.Model
	terms []*term
	ops   [][]porcupine.Operation // of each term
}

func newFence(x *index, writes []trace.Entry) *fence {
	f := &fence{model: fencedMutex(!x.noTokens), terms: x.terms}
	of := map[*term][]trace.Entry{}
	for _, e := range writes {
		if t := x.term(e); t != nil {
			of[t] = append(of[t], e)
		}
	}
	for _, t := range x.terms {
		a := action{term: t.number, token: t.token}
		left := t.ended
		if t.killed {
			left = clock.Never
		}
		ops := []porcupine.Operation{operation(a, t.begun, t.First)}
		a.kind = leave
		ops = append(ops, operation(a, t.Last, left))
		a.kind = write
		for _, e := range of[t] {
			a.refused = e.Refused
			ops = append(ops, operation(a, e.Call, e.At))
		}
		f.ops = append(f.ops, ops)
	}
	return f
}

// operation makes one. Porcupine takes an operation that is called at the moment at
// which another returns for concurrent with it; but two processes that were there at
// one moment were there at one time. So each moment is made two, of which the first
// is for returns.
func operation(a action, call, answer clock.Instant) porcupine.Operation {
	from := int64(call)*2 + 1
	to := int64(clock.Never)
	if answer != clock.Never {
		to = max(from, int64(answer)*2)
	}
	return porcupine.Operation{Input: a, Call: from, Return: to, ClientId: a.term}
}

// A result is what porcupine says of a history: if it is illegal, after which term
// it first is, with which before; from and to are numbers from 0.
type result struct {
	porcupine.CheckResult
	from, to int
}

// check checks the history. It is not narrowed: at every moment only few operations
// are open, of which all but one are refused at once, and it takes time in proportion
// to the length of the history. What is illegal is found by halves, as a history
// that is legal is so without some of its terms, too.
func (f *fence) check(patience time.Duration) result {
	end := time.Now().Add(patience)
	verdict := func(from, to int) porcupine.CheckResult {
		left := max(time.Until(end), 1) // 0 would be without a limit
		return porcupine.CheckOperationsTimeout(f.model, slices.Concat(f.ops[from:to]...), left)
	}
	whole := verdict(0, len(f.ops))
	if whole != porcupine.Illegal {
		return result{CheckResult: whole}
	}
	illegal := func(from, to int) bool { return verdict(from, to) != porcupine.Ok }
	to := sort.Search(len(f.ops), func(n int) bool { return illegal(0, n+1) })
	from := to - sort.Search(to, func(n int) bool { return illegal(to-n, to+1) })
	return result{whole, from, to}
}

// around are the numbers of the terms to show for an illegal history: the two, and
// some that were there at that time. They are illegal without the others; if not,
// all between the two are taken.
func (f *fence) around(r result) []int {
	const some = 3
	chosen := []int{r.from}
	for i := max(r.from+1, r.to-some); i <= r.to; i++ {
		chosen = append(chosen, i)
	}
	if porcupine.CheckOperationsTimeout(f.model, f.chosen(chosen), time.Minute) == porcupine.Illegal {
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
