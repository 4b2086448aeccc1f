package oracle

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// thawing is how long a job may live when a frozen machine continues: each killer of the job must
// get a processor, and the kernel must end its processes.
const thawing = time.Second

// thaw cuts terms off where their machine was frozen, if the lease has ended before it continued,
// or another has led by then. Nothing could kill the job meanwhile. How long it lives from then on
// is judged here, and the register must refuse what it writes after a write of the next term.
func (v *Verdict) thaw(terms []*term) {
	for i, t := range terms {
		for _, e := range v.faults {
			if v.options.Machine == "" || e.What != v.options.Machine || e.Host != t.host || e.Call <= t.First || e.Thaw >= t.Last {
				continue
			}
			ended := e.Thaw.Sub(e.Call) >= striking+v.options.TTL
			if !ended && (i+1 == len(terms) || terms[i+1].First > min(e.Thaw.Add(thawing), t.Last)) {
				continue
			}
			lived := t.cut(e)
			v.Figures.Thawed.add(lived)
			if lived > thawing {
				v.complain(fmt.Sprintf("token %d lived %v after its machine was thawed", t.token, lived), t)
			}
		}
	}
}

// cut ends what had begun in a term before a fault, and what a job starts that is not yet killed, with
// that fault, and returns for how long it was there when the machine had continued.
func (t *term) cut(e trace.Entry) (lived time.Duration) {
	t.frozen, t.Last = e.Call, math.MinInt64
	for i := range t.stays {
		if s := &t.stays[i]; s.First <= e.Call || s.What == "child" {
			lived = max(lived, s.Last.Sub(e.Thaw))
			s.First, s.Last = min(s.First, e.Call), min(s.Last, e.Call)
		}
		t.Last = max(t.Last, t.stays[i].Last)
	}
	return lived
}

// cutBefore reports whether the term was cut off before an entry.
func (t *term) cutBefore(e trace.Entry) bool { return t != nil && t.frozen != 0 && e.At > t.frozen }

// wasFrozen reports whether a lease ended while the machine was frozen, and the job lived after
// that only for as long as it may.
func (v *Verdict) wasFrozen(outside trace.Entry) bool {
	return slices.ContainsFunc(v.faults, func(e trace.Entry) bool {
		return e.Thaw != 0 && e.Host == outside.Host && e.Call <= outside.Expiry && e.Thaw >= outside.Expiry && outside.Call <= e.Thaw.Add(thawing)
	})
}
