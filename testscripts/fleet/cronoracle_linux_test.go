package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/faults/oracle"
	"github.com/leaderrun/leaderrun/faults/trace"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// A verdict is what was found in the records of a day, with figures.
type verdict struct {
	wrong []string

	windows, firings, ran, skips int
	held, unanswered             int // gave up waiting because another had the lock, or because the server was too slow
	failures                     int
	kills                        map[string]int
	reruns                       int // of a job that had succeeded but could not report it
	overtaken                    int // skips of windows so late that later ones had their turn
	excused                      int // firings excused because the machine was too busy
	least                        time.Duration
}

func (v *verdict) complain(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

func (v *verdict) String() string {
	return fmt.Sprintf("%d windows, %d firings: %d ran the job, %d skipped it, %d gave up waiting, %d without an answer; %d jobs failed, killed %v, %d ran again after a crash between success and note, %d came too late, %d firings ended badly on a machine too busy; least time between two jobs %v",
		v.windows, v.firings, v.ran, v.skips, v.held, v.unanswered, v.failures, v.kills, v.reruns, v.overtaken, v.excused, v.least)
}

// A turn is everything that happened in one window.
type turn struct {
	starts    []clock.Instant
	successes []success
	overtaken bool // so late that the record no longer had room for the window
}

type success struct {
	at clock.Instant
	by *outcome
}

// judge checks the records of a day:
//
//   - there is one job at a time, and tokens rise from each to the next;
//   - each window has exactly one success, unless we killed its leaderrun before it could
//     record the success, or it has warned that it could not;
//   - after leaderrun has recorded the success, by exiting with 0, the job is never started
//     again for that window;
//   - a run that skips the job did so because of an actual success, or comes so late, on a
//     machine that is too busy, that the record may have no room for the window;
//   - leaderrun determines its window before it campaigns;
//   - its exit status is that of the job.
func (c *cron) judge() *verdict {
	v := &verdict{windows: len(c.keys), firings: len(c.outcomes), kills: map[string]int{}}
	turns := map[int64]*turn{}
	for i := range c.outcomes {
		o := &c.outcomes[i]
		v.count(o)
		key, ok := o.key(c.schedule)
		if !ok {
			if !o.killed {
				v.complain("firing %d exited with %d and did not read its clock: %s", o.number, o.status, o.stderr)
			}
			continue
		}
		if turns[key] == nil {
			turns[key] = &turn{}
		}
		turns[key].add(o)
		c.judgeOne(v, o)
	}
	for _, key := range c.keys {
		if turns[key] == nil {
			v.complain("window %d belongs to no firing", key)
		}
	}
	for i := range c.outcomes {
		c.judgeSkip(v, &c.outcomes[i], turns)
	}
	for key, turn := range turns {
		v.judgeTurn(key, turn, slices.Contains(c.keys, key) && !turn.overtaken)
	}
	c.judgeJobs(v)
	return v
}

// remembered is the number of successes that the record has room for.
const remembered = 24

// overtaken reports whether, at a moment, so many later windows had a success that the
// window with this key may be forgotten.
func overtaken(turns map[int64]*turn, key int64, at clock.Instant) bool {
	later := 0
	for k, t := range turns {
		if k > key && slices.ContainsFunc(t.successes, func(s success) bool { return s.at < at }) {
			later++
		}
	}
	return later > remembered
}

func (t *turn) add(o *outcome) {
	for _, e := range o.entries {
		switch e.Kind {
		case trace.Start:
			t.starts = append(t.starts, e.At)
		case trace.Success:
			t.successes = append(t.successes, success{e.At, o})
		}
	}
}

func (v *verdict) count(o *outcome) {
	switch {
	case o.has(trace.Start):
		v.ran++
	case o.status == 0:
		v.skips++
	case o.status == 75:
		v.held++
	case o.status == 69:
		v.unanswered++
	}
	if o.has(trace.Failure) {
		v.failures++
	}
	for _, e := range o.entries {
		if e.Kind == trace.Kill {
			v.kills[e.What]++
		}
	}
	if o.killed {
		v.kills["leaderrun at any time"]++
	}
}

func (o *outcome) has(kind string) bool {
	return slices.ContainsFunc(o.entries, func(e trace.Entry) bool { return e.Kind == kind })
}

// victim returns what the job killed, or "".
func (o *outcome) victim() string {
	for _, e := range o.entries {
		if e.Kind == trace.Kill {
			return e.What
		}
	}
	return ""
}

// judgeOne checks the exit status of a firing, and when it read its clock.
func (c *cron) judgeOne(v *verdict, o *outcome) {
	victim := o.victim()
	ok := false
	switch o.status {
	case 0:
		ok = o.has(trace.Success) || !o.has(trace.Start)
	case 3:
		ok = o.has(trace.Failure)
	case 69, 75: // on a busy machine there may be no answer within a short wait
		ok = o.wait != "" && !o.has(trace.Start)
	case 76:
		ok = victim == "guard"
	case 137:
		ok = o.killed || victim == "job" || victim == "leaderrun"
	}
	switch {
	case ok:
	case (o.status == 69 || o.status == 76) && c.canary.busy(o.begun, o.ended):
		o.excused = true
		v.excused++
	default:
		v.complain("firing %d (%q, %v, killed %v, %q) exited with %d: %s", o.number, o.wait, o.job, o.killed, victim, o.status, o.stderr)
	}
	if o.status == 0 && strings.Contains(o.stderr, "leaderrun: error") && !o.unnoted() {
		v.complain("firing %d exited with 0 and wrote: %s", o.number, o.stderr)
	}
	if first := firstEvent(o.events); !first.IsZero() && first.UnixNano() < o.entries[0].Real {
		v.complain("firing %d read its clock %v after its campaign began", o.number, time.Duration(o.entries[0].Real-first.UnixNano()))
	}
}

// firstEvent returns the time of the first event in a file, or zero if there is none.
func firstEvent(file string) time.Time {
	text, err := os.ReadFile(file)
	if err != nil {
		return time.Time{}
	}
	var e struct{ Time time.Time }
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if json.Unmarshal(line, &e) != nil {
		return time.Time{}
	}
	return e.Time
}

func (v *verdict) judgeTurn(key int64, t *turn, planned bool) {
	slices.SortFunc(t.successes, func(a, b success) int { return cmp.Compare(a.at, b.at) })
	if planned && len(t.successes) == 0 {
		v.complain("window %d had no success", key)
	}
	for i, s := range t.successes {
		if i > 0 {
			v.reruns++
			if before := t.successes[i-1].by; !before.interrupted() {
				v.complain(trial.FinalMark+"window %d succeeded twice: in firing %d, which exited with %d, and in %d", key, before.number, before.status, s.by.number)
			}
		}
		for _, start := range t.starts {
			if s.by.status == 0 && !s.by.unnoted() && start > s.by.ended {
				v.complain("window %d was closed by firing %d, and run again %v later", key, s.by.number, start.Sub(s.by.ended))
			}
		}
	}
}

// interrupted reports whether we killed leaderrun or its guard, so that it could not
// report how the job had ended, or the success could not be recorded.
func (o *outcome) interrupted() bool {
	return o.unnoted() || o.status != 0 && (o.killed || o.victim() != "" || o.excused)
}

// unnoted reports whether leaderrun has warned that the window may be run again.
func (o *outcome) unnoted() bool { return strings.Contains(o.stderr, "could not be recorded") }

// judgeSkip checks that a job was skipped because of a success.
func (c *cron) judgeSkip(v *verdict, o *outcome, turns map[int64]*turn) {
	key, ok := o.key(c.schedule)
	if !ok || o.status != 0 || o.has(trace.Start) {
		return
	}
	done := slices.ContainsFunc(turns[key].successes, func(s success) bool { return s.at < o.ended })
	switch {
	case done:
	case overtaken(turns, key, o.ended) && c.canary.busy(0, o.ended):
		v.overtaken++
		turns[key].overtaken = true
	default:
		v.complain(trial.FinalMark+"firing %d skipped the job for window %d, which had no success", o.number, key)
	}
}

// judgeJobs checks that there was one job at a time.
func (c *cron) judgeJobs(v *verdict) {
	var entries []trace.Entry
	for _, o := range c.outcomes {
		entries = append(entries, o.entries...)
	}
	all, err := oracle.Stays(entries)
	if err != nil {
		v.complain("%v", err)
		return
	}
	overlaps, least := oracle.Alone(all)
	v.least = least
	v.wrong = slices.Concat(v.wrong, c.canary.described(overlaps), final(oracle.Rising(all)))
}

// described returns overlaps in words. Nothing excuses one, unless the machine was too busy to
// run anything in time in the lease before it, which may have ended without its killers.
func (c *canary) described(overlaps []oracle.Overlap) (wrong []string) {
	for _, o := range overlaps {
		if c.busy(o.After.First.Add(-ttl), o.Before.Last) {
			wrong = append(wrong, "margin exceeded by the machine: "+o.String())
		} else {
			wrong = append(wrong, trial.FinalMark+o.String())
		}
	}
	return wrong
}

// final marks what nothing excuses.
func final(wrong []string) []string {
	for i := range wrong {
		wrong[i] = trial.FinalMark + wrong[i]
	}
	return wrong
}

// listed returns what is wrong, or the beginning of it.
func listed(wrong []string) string {
	if n := len(wrong); n > 20 {
		wrong = append(wrong[:20:20], fmt.Sprint("and ", n-20, " more"))
	}
	return strings.Join(wrong, "\n")
}
