package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/runner/timing"
)

// hearing is how long it takes a job to learn of a deadline.
const hearing = 100 * time.Millisecond

// With so many jobs that were asked to end, some must show that they had their time.
const plenty = 10

// drained reports jobs that were killed while they took their time to end, longer than a lease, as
// they may when somebody asks them to. The lease is renewed meanwhile. If it cannot be, they are
// killed shortly before its end, and no earlier: those that lived until then are in order. One that
// knew of no lease, or that a fault may have killed, is not judged, and neither is one that leaderrun
// has lost the lock under: it may have asked the job to end because the lease was about to, and then
// there is less time, even if a renewal succeeds later.
func (v *Verdict) drained(x *index, all []trace.Entry) {
	if !v.options.Drains {
		return
	}
	leases := timing.New(v.options.TTL, timing.KillAfter)
	inTime := 0
	for _, e := range all {
		t := x.term(e)
		if t == nil || t.knower().Until == 0 || t.status == exitLost || slices.ContainsFunc(v.faults, func(f trace.Entry) bool {
			return f.Host == t.host && deadly(f.What) && f.Call <= t.Last.Add(striking) && max(f.At, f.Call) >= e.At
		}) {
			continue
		}
		v.Figures.Drains++
		if t.Last >= e.Expiry {
			inTime++
		}
		if kill := leases.KillAt(t.knower().Until); t.Last < min(e.Expiry, kill.Add(-hearing)) {
			v.complain(fmt.Sprintf("drain: the job of token %d was killed %v before it had ended as it was asked to, and %v before it had to be for its lease",
				t.token, e.Expiry.Sub(t.Last), kill.Sub(t.Last)), t)
		}
	}
	if len(all) >= 2*plenty && v.Figures.Drains == 0 || v.Figures.Drains >= plenty && inTime == 0 {
		v.complain(fmt.Sprintf("drain: %d jobs were asked to end, and none of the %d that are judged had its time", len(all), v.Figures.Drains))
	}
}

// deadly reports whether a fault of its host may kill a job.
func deadly(what string) bool {
	return what != "helper killed" && strings.Contains(what, "killed") || strings.Contains(what, "guard")
}
