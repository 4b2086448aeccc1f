package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Options say what a history is of.
type Options struct {
	Seed   uint64        // of the schedule, for messages
	TTL    time.Duration // as requested from leaderrun
	Cookie string        // of everything that was started; if empty, leftovers are not checked
	Dir    string        // directory for the picture of an illegal history; if empty, that for temporary files

	// Logs are the files that leaderruns, their guards and helpers print to.
	Logs []string

	// NoTokens says that tokens are not guaranteed, as with programs other than
	// leaderrun. Terms are then distinguished by the process that had the lock, and the
	// register is ignored.
	NoTokens bool

	// Network are the kinds of faults that cut off a host. No takeover is expected
	// before they end. Faults without a host need not be among them.
	Network []string

	// Silent are the kinds of faults of a host during which leaderrun may renew its
	// lease without its job learning of it. The end that the job knew is then not used
	// against a term.
	Silent []string

	// Frozen are the kinds of faults of a host from whose beginning leaderrun no longer
	// renews. It may have renewed just before, without time for its job to learn of it.
	Frozen []string

	// Machine is the kind of fault of a host during which nothing of it runs.
	Machine string

	// Drains says that jobs may take as long as they need to end, and that somebody asks them.
	Drains bool

	// Ranked says that all leaderruns have priorities.
	Ranked bool

	// Once is the WINDOW of --once-per; "" without it. Epoch is the date when the machine's boot
	// clock was 0.
	Once  string
	Epoch time.Time
}

// checking is how long porcupine may take, which needs a second for thousands of terms.
// leaving is how long the processes of a fleet may take to end.
const (
	checking = 2 * time.Minute
	leaving  = 10 * time.Second
)

// Judge judges a history. The verdict has all findings, including invalid records.
func Judge(h History, o Options) *Verdict {
	v := &Verdict{options: o, history: h, began: h.began(), faults: h.of(trace.Fault)}
	x, wrong := h.terms(o.NoTokens)
	for _, w := range wrong {
		v.complain(w)
	}
	slices.SortStableFunc(v.faults, func(a, b trace.Entry) int { return cmp.Compare(a.Call, b.Call) })
	v.terms = x.terms
	v.thaw(x.terms)
	v.hearsay(x.terms)
	v.count(x.terms)
	v.sweep(x.terms)
	v.register(x, h.of(trace.Write))
	v.outside(x, h.of(trace.Outside))
	v.hooks(x.terms)
	v.resigned(x, h.of(trace.Resigned))
	v.taken(x, h.of(trace.Taken))
	v.drained(x, h.of(trace.Draining))
	v.once(x.terms, h.of(trace.Stopped))
	v.outranked(x, h.of(trace.Stopped))
	v.orphans(x.terms)
	v.abandoned(x.runs)
	v.leftovers()
	v.crashed()
	v.linearize(newFence(x, h.of(trace.Write)), checking)
	return v
}

// hearsay corrects what jobs knew about leases.
func (v *Verdict) hearsay(terms []*term) {
	v.forget(terms)
	v.prolong(terms)
}

// striking is how long it takes to freeze something on a busy machine.
const striking = 200 * time.Millisecond

// prolong extends a lease by as much as a frozen leaderrun can have renewed it.
func (v *Verdict) prolong(terms []*term) {
	for _, t := range terms {
		until, ok := t.until()
		if !ok {
			continue
		}
		for _, e := range v.faults {
			if slices.Contains(v.options.Frozen, e.What) && e.Host == t.host && e.Call >= until.Add(-v.options.TTL) && e.Call <= t.Last {
				t.Until = max(t.Until, e.Call.Add(striking+v.options.TTL))
			}
		}
	}
}

// forget forgets what jobs knew about leases that may have been renewed without their
// learning of it: there was silence between the earliest moment at which they can have
// last asked, and their end; or who knew it was gone or suspended when the last job or hook began,
// which learned nothing.
func (v *Verdict) forget(terms []*term) {
	for _, t := range terms {
		until, ok := t.until()
		if !ok || t.Last <= until {
			continue
		}
		if last, knew := t.last(), t.knower(); last.What != "child" && last.Until == 0 && knew.Last < last.First {
			t.Until = 0
			continue
		}
		heard := until.Add(-v.options.TTL)
		if slices.ContainsFunc(v.faults, func(e trace.Entry) bool {
			return slices.Contains(v.options.Silent, e.What) && e.Host == t.host && e.Call <= t.Last && e.At >= heard
		}) {
			t.Until = 0
		}
	}
}

func (v *Verdict) count(terms []*term) {
	f := &v.Figures
	f.Terms, f.Faults = len(terms), map[string]int{}
	for _, e := range v.faults {
		f.Faults[e.What]++
	}
	f.measure(terms, v.options.TTL)
	f.changes(terms, v.faults, v.options.Network)
}

// sweep finds terms that overlap, and tokens that do not rise.
func (v *Verdict) sweep(terms []*term) {
	all := make([]Stay, 0, len(terms))
	of := map[Stay]*term{}
	for i, t := range terms {
		s := t.stay()
		all = append(all, s)
		of[s] = t
		if i > 0 && !v.options.NoTokens && t.token <= terms[i-1].token {
			v.complain(fmt.Sprintf("token %d was followed by %d", terms[i-1].token, t.token), terms[i-1], t)
		}
	}
	overlaps, least := Alone(all)
	v.Figures.Gap = Least{max(len(terms)-1, 0), least}
	killers := v.killers()
	for _, o := range overlaps {
		a, b := of[o.Before], of[o.After]
		o = Overlap{a.last(), b.first()}
		o.Before.Last = a.Last
		v.overlap(o.String(), a, b, killers)
	}
}

// register checks what the fenced register has accepted, in the order in which it
// was written down and in time.
func (v *Verdict) register(x *index, writes []trace.Entry) {
	for _, e := range writes {
		if !e.Refused {
			continue
		}
		v.Figures.Refused++
		if t := x.term(e); t != nil && !v.options.NoTokens && !t.cutBefore(e) {
			v.complain(fmt.Sprintf("the register refused token %d of host %s, leaderrun %d: it knew %d, and that job was still there %s ms after the start",
				e.Token, t.host, t.pid, e.Highest, since(v.began, e.At)), t)
		}
	}
	if v.options.NoTokens {
		return
	}
	v.accepted(x, writes, "")
	inTime := slices.Clone(writes)
	slices.SortStableFunc(inTime, func(a, b trace.Entry) int { return cmp.Compare(a.At, b.At) })
	v.accepted(x, inTime, ", in time")
}

// accepted reports the first write of each token that is lower than an earlier one.
func (v *Verdict) accepted(x *index, writes []trace.Entry, order string) {
	var highest trace.Entry
	reported := map[uint64]bool{}
	for _, e := range writes {
		switch {
		case e.Refused:
		case e.Token >= highest.Token:
			highest = e
		case !reported[e.Token]:
			reported[e.Token] = true
			v.complain(fmt.Sprintf("the register accepted token %d after %d%s", e.Token, highest.Token, order), x.term(highest), x.term(e))
		}
	}
}

// outside reports jobs that lived after the end of their lease, as leaderrun itself told them
// later. Each of a term says the same, so the first one will do.
func (v *Verdict) outside(x *index, all []trace.Entry) {
	reported := map[uint64]bool{}
	for _, e := range all {
		if !reported[e.Token] && !v.wasFrozen(e) {
			reported[e.Token] = true
			v.complain(fmt.Sprintf("outside its lease: the job of token %d lived %v after its end", e.Token, e.Call.Sub(e.Expiry)), x.term(e))
		}
	}
}

// resigned reports terms that were there after an operator was told that they were over.
func (v *Verdict) resigned(x *index, all []trace.Entry) {
	for _, e := range all {
		if t := x.term(e); t != nil && t.Last > e.At {
			v.complain(fmt.Sprintf("resigned: token %d was there %v after an operator was told that it was over", t.token, t.Last.Sub(e.At)), t)
		}
	}
}

// orphans finds processes that have outlived their leaderrun. If leaderrun was killed, its
// guard has the rest of the lease to kill them, or until somebody else has the lock.
func (v *Verdict) orphans(terms []*term) {
	for i, t := range terms {
		limit, what := t.ended, "leaderrun's end"
		if t.killed {
			limit, what = clock.Never, "the end of its lease"
			if until, ok := t.until(); ok {
				limit = until
			}
			if i+1 < len(terms) && terms[i+1].First <= limit {
				limit, what = terms[i+1].First-1, "the next term's beginning"
			}
		} else if until, ok := t.until(); ok && t.Last > until {
			v.complain(fmt.Sprintf("token %d outlived its lease, as its job knew it, by %v", t.token, t.Last.Sub(until)), t)
		}
		v.outlived(t, limit, what)
	}
}

// outlived reports each process of a term that existed after a moment, or the term itself
// if only its entries show that.
func (v *Verdict) outlived(t *term, limit clock.Instant, what string) {
	if t.Last <= limit {
		return
	}
	before := v.Figures.Orphans
	for _, s := range t.stays {
		if s.Last > limit {
			v.Figures.Orphans++
			v.complain(fmt.Sprintf("orphan: %s of token %d (pid %d) was there %v after %s (leaderrun %d)",
				s.What, t.token, s.PID, s.Last.Sub(limit), what, t.pid), t)
		}
	}
	if v.Figures.Orphans == before {
		v.Figures.Orphans++
		v.complain(fmt.Sprintf("orphan: token %d was used %v after %s (leaderrun %d)", t.token, t.Last.Sub(limit), what, t.pid), t)
	}
}

// abandoned reports leaderruns that have left processes behind, even if these have
// written nothing, perhaps because they were stopped. A leaderrun that was killed leaves
// that to its guard.
func (v *Verdict) abandoned(runs map[int][]*run) {
	for _, pid := range slices.Sorted(maps.Keys(runs)) {
		for _, r := range runs[pid] {
			if r.left > 0 && !r.killed {
				v.Figures.Orphans += r.left
				v.complain(fmt.Sprintf("orphan: %d processes of host %s were there when leaderrun %d had ended", r.left, r.host, r.pid))
			}
		}
	}
}

// leftovers finds processes that still exist.
func (v *Verdict) leftovers() {
	if v.options.Cookie == "" {
		return
	}
	left, err := Gone(v.options.Cookie, leaving)
	if err != nil {
		v.complain(err.Error())
	}
	for _, line := range left {
		v.Figures.Orphans++
		v.complain("orphan: left at the end: " + line)
	}
}

// linearize has porcupine check the history. No answer in time counts as a violation.
func (v *Verdict) linearize(f *fence, patience time.Duration) {
	r := f.check(patience)
	switch r.CheckResult {
	case porcupine.Ok:
	case porcupine.Illegal:
		a, b := f.terms[r.from], f.terms[r.to]
		file, err := f.picture(v.options.Dir, r, v.faults, v.began)
		if err != nil {
			v.complain(err.Error())
		}
		v.Picture = file
		v.complain(fmt.Sprintf("not a history of a fenced mutex: see the terms from token %d to %d", a.token, b.token), a, b)
	default:
		v.complain(fmt.Sprintf("porcupine does not know after %v whether this is a history of a fenced mutex", patience))
	}
}
