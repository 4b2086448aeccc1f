package oracle

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// The operations of a fenced mutex. A term enters at some moment between the start of
// its leaderrun and the term's first moment, and leaves between its last moment and the
// end of its leaderrun. If leaderrun was killed, or its end was not seen, the term leaves
// at any moment after its last. A write happens between its call and its answer.
const (
	enter = iota
	leave
	write
)

// An action is the input of an operation. There is no output: an operation that the
// model refuses must not have happened.
type action struct {
	kind    int
	term    int // its number
	token   uint64
	refused bool
}

// A mutex is the model's state.
type mutex struct {
	holder int    // the number of a term; 0 if the lock is free
	last   uint64 // token
}

// fencedMutex is the model of a free mutex with its last token. With tokens, each new
// one must be higher.
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

// A fence is a history as operations on a fenced mutex, grouped by term.
type fence struct {
	tokens bool
	terms  []*term
	ops    [][]porcupine.Operation // of each term
}

func newFence(x *index, writes []trace.Entry) *fence {
	f := &fence{tokens: !x.noTokens, terms: x.terms}
	of := map[*term][]trace.Entry{}
	for _, e := range writes {
		if t := x.term(e); t != nil && !t.cutBefore(e) {
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

// operation makes an operation. If one is called at the moment at which another returns,
// porcupine treats them as concurrent; but two processes that existed at the same moment
// overlapped. So each moment becomes two, of which the first is for returns. An operation
// that is called and returns at the same moment has only one of the two: the first if it
// enters, otherwise the second.
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
