package oracle

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A term is what a leaderrun ran under one token.
type term struct {
	*run
	trace.Span // of all stays; Until is the latest that any of them knew

	number   int // from 1, in time
	token    uint64
	stays    []Stay
	byItself bool          // its last job was about to end by itself
	frozen   clock.Instant // when its machine was frozen for too long; 0: it was not
}

// until returns the end of its lease, or false if nobody knew it.
func (t *term) until() (clock.Instant, bool) { return t.Until, t.Until != 0 }

// stay returns the term as a stay that must be alone.
func (t *term) stay() Stay {
	s := t.last()
	s.Span = t.Span
	return s
}

// first returns the process that began first.
func (t *term) first() Stay {
	return slices.MinFunc(t.stays, func(a, b Stay) int { return cmp.Compare(a.First, b.First) })
}

// last returns the process that ended last.
func (t *term) last() Stay {
	return slices.MaxFunc(t.stays, func(a, b Stay) int { return cmp.Compare(a.Last, b.Last) })
}

// knower returns the process that knew most about the lease.
func (t *term) knower() Stay {
	return slices.MaxFunc(t.stays, func(a, b Stay) int { return cmp.Compare(a.Until, b.Until) })
}

func (t *term) add(s Stay) {
	t.stays = append(t.stays, s)
	t.First, t.Last, t.Until = min(t.First, s.First), max(t.Last, s.Last), max(t.Until, s.Until)
	t.begun = min(t.begun, t.First) // its start may have been recorded late
}

// An index finds the term that an entry is about.
type index struct {
	noTokens bool // tokens do not rise, and may all be equal
	terms    []*term
	runs     map[int][]*run // by process ids
	ofRun    map[*run][]*term
	ofToken  map[uint64][]*term
}

// terms finds the terms, in time, and what is wrong with the records.
func (h History) terms(noTokens bool) (*index, []string) {
	all, wrong := h.runs(noTokens)
	x := &index{noTokens: noTokens, runs: map[int][]*run{}, ofRun: map[*run][]*term{}, ofToken: map[uint64][]*term{}}
	for _, r := range all {
		x.runs[r.pid] = append(x.runs[r.pid], r)
	}
	for _, s := range h.Stays {
		if len(x.runs[s.Leaderrun]) == 0 {
			wrong = append(wrong, fmt.Sprintf("%s of token %d (pid %d) was started by leaderrun %d, which never began", s.What, s.Token, s.PID, s.Leaderrun))
			x.runs[s.Leaderrun] = []*run{{pid: s.Leaderrun, host: s.Host, begun: s.First, ended: clock.Never}}
		}
		x.place(s).add(s)
	}
	slices.SortStableFunc(x.terms, func(a, b *term) int { return cmp.Compare(a.First, b.First) })
	for i, t := range x.terms {
		t.number = i + 1
	}
	return x, append(wrong, x.account(h.Entries)...)
}

// place returns the term of a stay, or a new one if it is the first of its term.
func (x *index) place(s Stay) *term {
	r := x.run(s.Leaderrun, s.First)
	for _, t := range x.ofRun[r] {
		if t.token == s.Token {
			return t
		}
	}
	t := &term{run: r, token: s.Token, Span: trace.Span{First: clock.Never, Last: math.MinInt64}}
	x.terms, x.ofRun[r], x.ofToken[s.Token] = append(x.terms, t), append(x.ofRun[r], t), append(x.ofToken[s.Token], t)
	return t
}

// run returns the run that had a process id at a moment.
func (x *index) run(pid int, at clock.Instant) *run {
	all := x.runs[pid]
	found := all[0]
	for _, r := range all {
		if r.begun <= at {
			found = r
		}
	}
	return found
}

// ofTerm reports whether the processes of a term write entries of this kind: of
// beginnings, of ends, and of what is between.
func ofTerm(kind string) bool {
	switch kind {
	case trace.Start, trace.End, trace.Success, trace.Failure, trace.Write:
		return true
	}
	return false
}

// account adds to each term what other entries show: a process that wrote an entry
// existed at that moment.
func (x *index) account(entries []trace.Entry) (wrong []string) {
	for _, e := range entries {
		if !ofTerm(e.Kind) {
			continue
		}
		t := x.term(e)
		if t == nil {
			if !x.noTokens {
				wrong = append(wrong, fmt.Sprintf("%s of token %d on host %q is nobody's", e.Kind, e.Token, e.Host))
			}
			continue
		}
		t.Last = max(t.Last, e.At)
		if e.Kind != trace.Write && e.What == "job" {
			t.byItself = e.Kind != trace.Start
		}
	}
	return wrong
}

// term returns the term that wrote an entry: the last one begun among those that match,
// or nil if none does.
func (x *index) term(e trace.Entry) (found *term) {
	candidates := x.ofToken[e.Token]
	if len(x.runs[e.Leaderrun]) > 0 {
		candidates = x.ofRun[x.run(e.Leaderrun, e.At)]
	}
	for _, t := range candidates {
		if t.token != e.Token || e.Leaderrun != 0 && e.Leaderrun != t.pid || e.Host != "" && e.Host != t.host {
			continue
		}
		if found == nil || t.First <= e.At {
			found = t
		}
	}
	return found
}
