package oracle

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
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

// fencedMutex is the model of one that is free, with the token that was its last.
// With tokens, each must be higher than that.
func fencedMutex(tokens bool, last uint64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return mutex{0, last} },
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
	tokens bool
	terms  []*term
	ops    [][]porcupine.Operation // of each term
}

func newFence(x *index, writes []trace.Entry) *fence {
	f := &fence{tokens: !x.noTokens, terms: x.terms}
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
// is for returns. An operation that is called and returns at one moment has one of
// the two only: the first if it enters, and else the second.
func operation(a action, call, answer clock.Instant) porcupine.Operation {
	from, to := int64(call)*2+1, int64(clock.Never)
	switch {
	case answer == clock.Never:
	case a.kind == enter:
		to = int64(answer) * 2
		from = min(from, to)
	default:
		to = max(from, int64(answer)*2)
	}
	return porcupine.Operation{Input: a, Call: from, Return: to, ClientId: a.term}
}
