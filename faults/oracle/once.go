package oracle

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/window"
)

// AskedToResign is the kind of fault that asks a holder to end its job.
const AskedToResign = "holder asked to resign"

var (
	skipped    = regexp.MustCompile(`skipped: the window (.+) was run by [^ /]+/(\d+)/`)
	unrecorded = regexp.MustCompile(`the job succeeded, but this could not be recorded.* window="?([^"\n]+)"?`)
)

// once reports windows of --once-per in which the jobs of two leaderruns have succeeded. The lock's
// record says who was one of them, as those that skipped a window have read it. If a success could
// not be recorded, its window proves nothing.
func (v *Verdict) once(terms []*term, stops []trace.Entry) {
	if v.options.Once == "" {
		return
	}
	said := v.logged()
	all, ended := v.successes(terms, stops)
	for _, m := range skipped.FindAllStringSubmatch(said, -1) {
		all.add(m[1], m[2])
	}
	for _, m := range unrecorded.FindAllStringSubmatch(said, -1) {
		delete(all, m[1])
	}
	for _, label := range slices.Sorted(maps.Keys(all)) {
		if pids := slices.Sorted(maps.Keys(all[label])); len(pids) > 1 {
			v.complain(fmt.Sprintf("once: in the window %s the jobs of leaderruns %s have succeeded", label, strings.Join(pids, " and ")))
		}
	}
	if v.Figures.Windows = len(all); ended >= plenty && len(all) == 0 {
		v.complain(fmt.Sprintf("once: nothing is known of the windows of %d jobs that have succeeded", ended))
	}
}

// A tally has the process ids of the leaderruns whose jobs have succeeded in windows, by their labels.
type tally map[string]map[string]bool

func (y tally) add(label, pid string) {
	if y[label] == nil {
		y[label] = map[string]bool{}
	}
	y[label][pid] = true
}

// startup is by how much the clocks of jobs and of leaderruns may seem to differ.
const startup = 50 * time.Millisecond

// successes returns those jobs that have ended by themselves, and of which it is known to which
// window they belong: there was no other between the start of their leaderrun and their own. It
// also returns the number of all that have succeeded.
func (v *Verdict) successes(terms []*term, stops []trace.Entry) (all tally, ended int) {
	all = tally{}
	schedule, err := window.Parse(v.options.Once, "")
	if err != nil {
		v.complain(err.Error())
		return all, 0
	}
	label := func(at clock.Instant) string { return schedule.Window(v.options.Epoch.Add(time.Duration(at))).Label }
	for _, t := range terms {
		if t.status != 0 || t.ended == clock.Never || !t.byItself || v.toldToEnd(t, stops) {
			continue
		}
		ended++
		if from := label(t.begun.Add(-startup)); from == label(t.First.Add(startup)) {
			all.add(from, fmt.Sprint(t.pid))
		}
	}
	return all, ended
}

// toldToEnd reports whether somebody may have told the job of a term to end: then it has not
// succeeded, whatever its status.
func (v *Verdict) toldToEnd(t *term, stops []trace.Entry) bool {
	asked := func(e trace.Entry) bool { return e.What == AskedToResign && e.Call <= t.ended && e.At >= t.begun }
	return slices.ContainsFunc(v.faults, asked) || slices.ContainsFunc(stops, func(e trace.Entry) bool { return t.ended >= e.At })
}
