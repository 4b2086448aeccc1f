package fleet

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// Allowances for what is slower than the promised takeover, which takes one lease and a
// little more after the end of a fault.
const (
	little = 3 * time.Second
	// detection is how long two failed health checks, and the end of the service,
	// take.
	detection = 4 * time.Second
	// lastPause is the longest time until a leaderrun asks a server again that was down.
	lastPause = 5 * time.Second
)

// A report is what was found in the records of services, with figures.
type report struct {
	wrong []string

	kinds        map[string]int // faults
	terms, lives int
	worst        time.Duration // without a leader
	worstBy      string
	afterwards   time.Duration // without a leader, from the end of a fault
	afterwardsBy string
	least        time.Duration // between what ran under two tokens
	excused      int           // times without a leader that were too long, on a machine that was too busy
}

func (r *report) complain(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// judge checks the records of services:
//
//   - of services, what they start, and hooks under the lease, there was one at a time, and
//     tokens rise;
//   - soon after each fault there is a leader again;
//   - each term had its hooks, in order;
//   - a leaderrun ends when it is told to, or killed, and only then.
func (s *services) judge() *report {
	r := &report{kinds: map[string]int{}}
	for _, f := range s.strikes {
		r.kinds[f.name]++
	}
	entries := s.entries()
	all, err := oracle.Stays(entries)
	if err != nil {
		r.complain("%v", err)
		return r
	}
	leased := slices.DeleteFunc(slices.Clone(all), func(a oracle.Stay) bool { return a.What == "lost" })
	overlaps, least := oracle.Alone(leased)
	r.least = least
	r.wrong = slices.Concat(r.wrong, s.canary.described(overlaps), final(oracle.Rising(leased, false)))
	s.judgeGaps(r, all)
	s.judgeTerms(r, all, entries)
	s.judgeExits(r)
	return r
}

// A gap is a time without a leader.
type gap struct{ from, to clock.Instant }

// gaps returns the times between services. If the service of a term hangs, its time after
// that does not count.
func (s *services) gaps(all []oracle.Stay) []gap {
	var found []gap
	var last clock.Instant
	for _, l := range all {
		if l.What != "service" {
			continue
		}
		span, err := trace.ReadLife(l.Life) // without the processes that it has started
		if err != nil {
			continue // it is in stays, which would have failed
		}
		if sick, ok := s.sick[l.Token]; ok {
			span.Last = min(span.Last, sick)
		}
		if span.First >= span.Last {
			continue
		}
		if last != 0 && span.First > last {
			found = append(found, gap{last, span.First})
		}
		last = max(last, span.Last)
	}
	return found
}

func (s *services) judgeGaps(r *report, all []oracle.Stay) {
	for _, g := range s.gaps(all) {
		cause := -1
		for i, f := range s.strikes {
			if f.begin <= g.to {
				cause = i
			}
		}
		if cause < 0 && s.canary.busy(g.from, g.to) {
			r.excused++
			continue
		}
		if cause < 0 {
			r.complain("there was no leader for %v before the first fault", g.to.Sub(g.from))
			continue
		}
		f := s.strikes[cause]
		if d := g.to.Sub(g.from); d > r.worst {
			r.worst, r.worstBy = d, f.name
		}
		d := g.to.Sub(max(g.from, f.end))
		if d > r.afterwards {
			r.afterwards, r.afterwardsBy = d, f.name
		}
		late := g.to.Sub(f.end)
		switch {
		case late <= s.bound(f):
		case s.canary.busy(f.begin, g.to):
			r.excused++
		default:
			r.complain("%q, number %d, was over for %v when there was a leader again, after %v without; want at most %v",
				f.name, cause, late, d, s.bound(f))
		}
	}
}

// bound returns how long after a fault there must be a leader again.
func (s *services) bound(f strike) time.Duration {
	d := ttl + little + s.store.poll
	if f.outage {
		d += min(f.end.Sub(f.begin), lastPause)
	}
	if f.name == "job hung" {
		d += detection
	}
	return d
}

// judgeTerms checks the hooks of each term.
func (s *services) judgeTerms(r *report, all []oracle.Stay, entries []trace.Entry) {
	terms := map[uint64][]oracle.Stay{}
	last := map[int]uint64{} // the last term of each leaderrun
	for _, l := range all {
		terms[l.Token] = append(terms[l.Token], l)
		last[l.Leaderrun] = max(last[l.Leaderrun], l.Token)
		r.lives++
	}
	r.terms = len(terms)
	for token, stays := range terms {
		var order []string
		for _, l := range stays {
			order = append(order, l.What)
		}
		by := stays[0].Leaderrun
		if why := misordered(order, s.murdered[by] && last[by] == token); why != "" {
			r.complain("term %d had %s: %s", token, strings.Join(order, ", "), why)
		}
		ended := slices.ContainsFunc(entries, func(e trace.Entry) bool {
			return e.Kind == trace.End && e.What == "elected" && e.Token == token
		})
		if slices.Contains(order, "service") && !ended {
			r.complain("term %d had a service although its first hook did not end by itself", token)
		}
		slices.SortFunc(stays, func(a, b oracle.Stay) int { return cmp.Compare(a.First, b.First) })
		overlaps, _ := oracle.Alone(stays) // the last hook of a lost term also comes after its service
		r.wrong = append(r.wrong, s.canary.described(overlaps)...)
	}
}

// judgeExits checks why leaderruns have ended. A leaderrun that is told to end exits with
// the status of its job, which may have to be killed, or dies of the signal.
func (s *services) judgeExits(r *report) {
	ended := 0
	for status, n := range s.exits {
		switch status {
		case 0, 128 + int(unix.SIGTERM), 128 + int(unix.SIGKILL):
			ended += n
		default:
			r.complain("%d leaderruns exited with %d", n, status)
		}
	}
	if most := replicas + len(s.murdered); ended > most {
		r.complain("%d leaderruns have ended, %d of them unasked", ended, ended-most)
	}
}

// misordered returns what is wrong with the order in which a term's commands began:
// elected, then services, then resign, or lost, or both if the lock was lost during its
// release. If leaderrun was killed, the end may be missing.
func misordered(order []string, killed bool) string {
	rest := order
	take := func(what string, most int) (n int) {
		for len(rest) > 0 && rest[0] == what && n < most {
			rest = rest[1:]
			n++
		}
		return n
	}
	elected := take("elected", 1)
	services := take("service", math.MaxInt)
	closing := take("resign", 1) + take("lost", 1)
	switch {
	case len(rest) > 0:
		return rest[0] + " at the wrong place"
	case elected == 0 && services > 0:
		return "no elected"
	case closing == 0 && !killed:
		return "no end"
	}
	return ""
}

func (r *report) String() string {
	least := r.least.String()
	if r.least == math.MaxInt64 {
		least = "unknown"
	}
	return fmt.Sprintf("%d terms, %d commands under them; without a leader for at most %v (%s), %v after the end of a fault (%s); %d times for too long on a machine too busy; least time between two terms %s; faults %v",
		r.terms, r.lives, r.worst.Round(time.Millisecond), r.worstBy, r.afterwards.Round(time.Millisecond), r.afterwardsBy, r.excused, least, r.kinds)
}
