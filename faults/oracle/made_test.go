package oracle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// A made term is a fictional one. Times are in seconds; an end of 0 is not recorded.
type made struct {
	host        string
	pid         int // of leaderrun; 0 means the number of the token
	token       uint64
	begun       float64
	first, last float64 // of its job
	ended       float64
	status      int
	until       float64
	cut         bool       // its job did not end by itself
	child       [2]float64 // the first and the last moment of another process
	hook        string     // the child is a hook
	again       [2]float64 // the first and the last moment of another job, which learns nothing of the lease
	writes      []trace.Entry
}

// wrote returns a write, from one moment to another.
func wrote(call, done float64) trace.Entry {
	return trace.Entry{Kind: trace.Write, Call: at(call), At: at(done)}
}

// refused returns a refused write.
func refused(call, done float64, highest uint64) trace.Entry {
	e := wrote(call, done)
	e.Refused, e.Highest = true, highest
	return e
}

// struck returns a fault.
func struck(what, host string, begin, end float64) trace.Entry {
	return trace.Entry{Kind: trace.Fault, What: what, Host: host, Call: at(begin), At: at(end)}
}

// history returns a history of terms and other entries.
func history(terms []made, others ...trace.Entry) (h History) {
	h.Entries = slices.Clone(others)
	for _, m := range terms {
		m.into(&h)
	}
	slices.SortStableFunc(h.Entries, func(a, b trace.Entry) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(h.Stays, func(a, b Stay) int { return cmp.Compare(a.First, b.First) })
	return h
}

func (m made) into(h *History) {
	if m.pid == 0 {
		m.pid = int(m.token)
	}
	e := trace.Entry{Host: m.host, PID: m.pid, At: at(m.begun), Kind: trace.Began}
	h.Entries = append(h.Entries, e)
	if m.ended != 0 {
		h.Entries = append(h.Entries, trace.Entry{Kind: trace.Ran, Host: m.host, PID: m.pid, Call: at(m.begun), At: at(m.ended), Status: m.status})
	}
	job := m.stay("job", 10000, m.first, m.last)
	job.Until = at(m.until)
	stays := []Stay{job}
	if m.child[1] != 0 {
		stays = append(stays, m.stay(cmp.Or(m.hook, "child"), 20000, m.child[0], m.child[1]))
	}
	if m.again[1] != 0 {
		stays = append(stays, m.stay("job", 30000, m.again[0], m.again[1]))
	}
	for _, s := range stays {
		e := s.Entry
		e.Kind, e.At = trace.Start, s.First
		h.Entries = append(h.Entries, e)
	}
	h.Stays = append(h.Stays, stays...)
	if !m.cut {
		e := job.Entry
		e.Kind, e.At = [...]string{trace.End, trace.Success, trace.Failure}[m.token%3], job.Last
		h.Entries = append(h.Entries, e)
	}
	for _, w := range m.writes {
		w.Host, w.Token = m.host, m.token
		h.Entries = append(h.Entries, w)
	}
}

func (m made) stay(what string, pid int, first, last float64) Stay {
	return Stay{
		trace.Entry{What: what, Host: m.host, Token: m.token, PID: pid + m.pid, Leaderrun: m.pid, Life: fmt.Sprint(what, m.pid)},
		trace.Span{First: at(first), Last: at(last)},
	}
}
