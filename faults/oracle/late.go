package oracle

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/runner/timing"
)

// Each of the two killers of a job says how late it was, if it was: by more than the margin for
// a busy machine (leaderrun), or by more than the guard is given to answer.
var (
	lateGuard = regexp.MustCompile(`leaderrun-guard: warning: killed the job (\S+) late \(of leaderrun (\d+)\)`)
	lateCore  = regexp.MustCompile(`woke up late to kill the job.* late=(\S+) pid=(\d+)`)
)

// A killer is one of the two.
type killer struct {
	late  map[int]time.Duration // by the process ids of leaderruns
	fault string                // the word of faults that strike it
}

// killers reads from the logs how late the killers were.
func (v *Verdict) killers() []killer {
	core, guard := killer{map[int]time.Duration{}, "leaderrun"}, killer{map[int]time.Duration{}, "guard"}
	for _, file := range v.options.Logs {
		text, _ := os.ReadFile(file) // missing if nothing was started; crashed reports other errors
		core.read(lateCore, string(text))
		guard.read(lateGuard, string(text))
	}
	return []killer{core, guard}
}

func (k killer) read(line *regexp.Regexp, log string) {
	for _, m := range line.FindAllStringSubmatch(log, -1) {
		late, err := time.ParseDuration(m[1])
		if pid, err2 := strconv.Atoi(m[2]); err == nil && err2 == nil {
			k.late[pid] = max(k.late[pid], late)
		}
	}
}

// exceeded returns by how late the killers of a term were, if that is why it overlaps the next:
// each was later than both margins, or was struck by a fault, and one was late. Nothing excuses
// an overlap otherwise.
func (v *Verdict) exceeded(t *term, all []killer) (late time.Duration) {
	x := timing.New(v.options.TTL, timing.KillAfter)
	for _, k := range all {
		was := k.late[t.pid]
		if was <= x.Margin+x.Death && !v.struck(t, k.fault) {
			return 0
		}
		late = max(late, was)
	}
	if late <= x.Margin+x.Death {
		return 0
	}
	return late
}

// struck reports whether a fault struck a process of the term's leaderrun in its last lease.
func (v *Verdict) struck(t *term, what string) bool {
	from := t.Last.Add(-v.options.TTL)
	for _, e := range v.faults {
		ours := e.Leaderrun == t.pid || e.Leaderrun == 0 && e.Host == t.host
		if ours && strings.Contains(e.What, what) && e.Call <= t.Last && max(e.At, e.Call) >= from {
			return true
		}
	}
	return false
}

// overlap records two terms at one time. If the machine was so busy that no margin could help,
// that is counted apart.
func (v *Verdict) overlap(what string, a, b *term, all []killer) {
	if late := v.exceeded(a, all); late > 0 {
		v.Figures.Exceeded++
		v.complain(fmt.Sprintf("margin exceeded by the machine: %d ms: %s", late.Milliseconds(), what), a, b)
		return
	}
	v.Figures.Overlaps++
	v.complain("overlap: "+what, a, b)
}
