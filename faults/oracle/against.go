package oracle

import (
	"fmt"
	"slices"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Against adds what the jobs of a peer show, which contends for the same lock on one host. It is
// called with all records, after the others were judged. A peer must find nothing of a term of
// ours. We must find nothing of the peer's, unless it has leases, and a fault struck its host or the
// server, or the network between them: then it may outlive its lease.
func (v *Verdict) Against(h History, host string, leases bool) {
	for _, s := range h.Stays {
		if s.Host != host {
			continue
		}
		v.Figures.Foreign++
		for _, t := range v.terms {
			switch {
			case s.First > t.Last || t.First > s.Last:
			case t.First <= s.First:
				v.Figures.Overlaps++
				v.complain(fmt.Sprintf("overlap: a peer's %s (pid %d) was there %v before the end of token %d", s.What, s.PID, t.Last.Sub(s.First), t.token), t)
			case !leases || !v.harmed(host, s.First.Add(-v.options.TTL), t.First):
				v.Figures.Overlaps++
				v.complain(fmt.Sprintf("overlap: token %d was there %v before the end of a peer's %s (pid %d), which no fault had struck", t.token, s.Last.Sub(t.First), s.What, s.PID), t)
			}
		}
	}
}

// harmed reports whether a fault of a host, a server or the network struck or lasted between two
// moments. Some kinds may be no harm.
func (v *Verdict) harmed(host string, from, to clock.Instant, harmless ...string) bool {
	return slices.ContainsFunc(v.faults, func(e trace.Entry) bool {
		return !slices.Contains(harmless, e.What) && (e.Host == "" || e.Host == host) && e.Call <= to && max(e.At, e.Call) >= from
	})
}
