package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A History is the records of one lock.
type History struct {
	Entries []trace.Entry // in the order in which they were written
	Stays   []Stay        // by their beginnings
}

// Read reads a file of entries, and the lives that they name.
func Read(file string) (History, error) {
	entries, err := trace.ReadAll(file)
	if err != nil {
		return History{}, err
	}
	all, err := Stays(entries)
	return History{entries, all}, err
}

// Slot returns the records of one slot of the lock. Each is a lock of its own.
func (h History) Slot(n int) History {
	return h.only(func(e trace.Entry) bool {
		return e.Slot == n || e.Kind == trace.Began || e.Kind == trace.Ran || e.Kind == trace.Fault
	})
}

// Without returns the records without what ran on a host.
func (h History) Without(host string) History {
	return h.only(func(e trace.Entry) bool { return e.Host != host || e.Kind == trace.Fault })
}

func (h History) only(of func(trace.Entry) bool) History {
	h.Entries = slices.DeleteFunc(slices.Clone(h.Entries), func(e trace.Entry) bool { return !of(e) })
	h.Stays = slices.DeleteFunc(slices.Clone(h.Stays), func(s Stay) bool { return !of(s.Entry) })
	return h
}

// began returns the moment before the first record.
func (h History) began() clock.Instant {
	first := clock.Never
	for _, e := range h.Entries {
		first = min(first, e.At)
		if e.Call != 0 {
			first = min(first, e.Call)
		}
	}
	for _, s := range h.Stays {
		first = min(first, s.First)
	}
	return first
}

// of returns the entries of a kind.
func (h History) of(kind string) (found []trace.Entry) {
	for _, e := range h.Entries {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// Service is what a leaderrun with --rejoin and hooks begins as.
const Service = "service"

// A run is one leaderrun, or one process of a peer.
type run struct {
	pid    int
	host   string
	begun  clock.Instant
	ended  clock.Instant // Never if nobody has seen it
	status int
	killed bool
	// service is set if it was started with --rejoin and hooks.
	service bool
	// priority is that of its place in the queue, if ranked is set.
	priority int
	ranked   bool
	left     int // processes of its jobs that it left behind
}

// killedBy reports whether a fault killed this leaderrun.
func (r *run) killedBy(f trace.Entry) bool {
	if r.status != 128+9 || !strings.Contains(f.What, "kill") || !strings.Contains(f.What, "leaderrun") {
		return false
	}
	if f.Leaderrun != 0 && f.Leaderrun != r.pid || f.Leaderrun == 0 && f.Host != r.host {
		return false
	}
	return f.Call <= r.ended && f.At >= r.begun
}

// runs returns the runs in the order in which they were recorded. Several may have had
// the same process id, one after the other. Peers are killed at the end.
func (h History) runs(peers bool) (all []*run, wrong []string) {
	open, stopped := map[int]*run{}, false
	faults := h.of(trace.Fault)
	for _, e := range h.Entries {
		switch e.Kind {
		case trace.Stopped:
			stopped = true
		case trace.Began:
			r := &run{pid: e.PID, host: e.Host, begun: e.At, ended: clock.Never, service: e.What == Service}
			if e.Call != 0 {
				r.begun = e.Call
			}
			r.priority, r.ranked = rank(e.What)
			open[e.PID] = r
			all = append(all, r)
		case trace.Ran:
			r := open[e.PID]
			if r == nil {
				wrong = append(wrong, fmt.Sprintf("leaderrun %d ended but never began", e.PID))
				continue
			}
			delete(open, e.PID)
			r.ended, r.status, r.left = e.At, e.Status, e.Left
			r.killed = slices.ContainsFunc(faults, r.killedBy) || peers && stopped && r.status == 128+9
		}
	}
	return all, wrong
}
