package oracle

import "fmt"

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
			case !leases || !v.harmed(host, s, t):
				v.Figures.Overlaps++
				v.complain(fmt.Sprintf("overlap: token %d was there %v before the end of a peer's %s (pid %d), which no fault had struck", t.token, s.Last.Sub(t.First), s.What, s.PID), t)
			}
		}
	}
}

// harmed reports whether a fault may have ended a peer's lease before a term of ours began.
func (v *Verdict) harmed(host string, s Stay, t *term) bool {
	for _, e := range v.faults {
		if (e.Host == "" || e.Host == host) && e.Call <= t.First && max(e.At, e.Call) >= s.First.Add(-v.options.TTL) {
			return true
		}
	}
	return false
}
