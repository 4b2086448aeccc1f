package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks"
)

// The bounds of what is kept about runs.
const (
	maxSchedules   = 4   // schedules; the one used least recently is forgotten
	maxScheduleLen = 128 // bytes of a schedule
	maxDone        = 24  // runs per schedule
	maxBy          = 64  // bytes of a holder's name
)

// A Run is one that finished well.
type Run struct {
	Window int64  `json:"slot"`            // the key of a window.Window
	By     string `json:"by,omitempty"`    // the holder; cut to 64 bytes
	At     int64  `json:"at,omitempty"`    // when it ended, in seconds since 1970; 0: not known
	Token  uint64 `json:"token,omitempty"` // of its term
}

// A history is what is known of one schedule. A window is done if it is listed, or
// not above the floor. Nothing but dropping a run from the list raises the floor,
// and the lowest is dropped first. So what is known is never forgotten; and a host
// whose clock is a year ahead, which has finished windows that are to come, does not
// make the others skip what is before them: its runs stay in the list. (That holds
// for 24 of them. Of a host that is left like that for longer the first is dropped,
// as nothing here knows whose clock is right.)
type history struct {
	Schedule string `json:"spec"`
	Floor    *int64 `json:"floor,omitempty"` // nil: none
	Done     []Run  `json:"done,omitempty"`  // by rising windows
}

// Done reports whether a window of a schedule needs no run any more, and which run
// has seen to it. That has no At if it is known only that it, or a later one, is
// over.
func (r *Record) Done(schedule string, window int64) (Run, bool) {
	i := r.find(schedule)
	if i < 0 {
		return Run{}, false
	}
	h := r.runs[i]
	if at, ok := h.search(window); ok {
		return h.Done[at], true
	}
	return Run{Window: window}, h.Floor != nil && window <= *h.Floor
}

// Finish notes a run of a schedule of at most 128 bytes that finished well.
func (r *Record) Finish(schedule string, run Run) error {
	if len(schedule) > maxScheduleLen || schedule == "" || !utf8.ValidString(schedule) {
		return fmt.Errorf("note a run: the schedule %q has not 1 to %d bytes of UTF-8", locks.Abbreviate(schedule), maxScheduleLen)
	}
	run.By = cut(run.By)
	h := history{Schedule: schedule}
	if i := r.find(schedule); i >= 0 {
		h = r.runs[i]
		r.runs = slices.Delete(r.runs, i, i+1)
	}
	h.add(run)
	if r.runs = append(r.runs, h); len(r.runs) > maxSchedules {
		r.runs = slices.Delete(r.runs, 0, 1)
	}
	return nil
}

func (r *Record) find(schedule string) int {
	return slices.IndexFunc(r.runs, func(h history) bool { return h.Schedule == schedule })
}

// search returns where a window is in the list, or belongs.
func (h *history) search(window int64) (int, bool) {
	return slices.BinarySearchFunc(h.Done, window, func(r Run, window int64) int { return cmp.Compare(r.Window, window) })
}

func (h *history) add(run Run) {
	i, known := h.search(run.Window)
	switch {
	case known:
		h.Done[i] = run
	case h.Floor == nil || run.Window > *h.Floor:
		h.Done = slices.Insert(h.Done, i, run)
	}
	if len(h.Done) > maxDone {
		h.drop()
	}
}

// drop takes the lowest run off the list.
func (h *history) drop() {
	floor := h.Done[0].Window
	h.Floor = &floor
	h.Done = slices.Delete(h.Done, 0, 1)
}

// shrink makes the record shorter, if it can: it drops a run of the longest list,
// but never the last one, which may be far ahead; then the longest name.
func (r *Record) shrink() bool {
	longest, name := -1, (*Run)(nil)
	for i := range r.runs {
		h := &r.runs[i]
		if len(h.Done) > 1 && (longest < 0 || len(h.Done) > len(r.runs[longest].Done)) {
			longest = i
		}
		for j := range h.Done {
			if run := &h.Done[j]; run.By != "" && (name == nil || len(run.By) > len(name.By)) {
				name = run
			}
		}
	}
	switch {
	case longest >= 0:
		r.runs[longest].drop()
	case name != nil:
		name.By = ""
	default:
		return false
	}
	return true
}

func (h *history) check() error {
	switch {
	case len(h.Schedule) > maxScheduleLen || h.Schedule == "":
		return fmt.Errorf("a schedule has %d bytes, not 1 to %d", len(h.Schedule), maxScheduleLen)
	case len(h.Done) > maxDone:
		return fmt.Errorf("a schedule has %d runs, more than %d", len(h.Done), maxDone)
	}
	for i, run := range h.Done {
		if len(run.By) > maxBy {
			return fmt.Errorf("a holder's name has %d bytes, more than %d", len(run.By), maxBy)
		}
		if i > 0 && run.Window <= h.Done[i-1].Window || h.Floor != nil && run.Window <= *h.Floor {
			return errors.New("the runs of a schedule are not in order")
		}
	}
	return nil
}

// cut shortens a holder's name, between two runes.
func cut(by string) string {
	by = strings.ToValidUTF8(by, "?") // JSON has three bytes for what is not valid
	if len(by) <= maxBy {
		return by
	}
	end := maxBy
	for end > maxBy-utf8.UTFMax && !utf8.RuneStart(by[end]) {
		end--
	}
	return by[:end]
}

// Last is the run that ended last, of whichever schedule, and that schedule.
func (r *Record) Last() (schedule string, last Run, ok bool) {
	for _, h := range r.runs {
		for _, run := range h.Done {
			if !ok || run.At > last.At {
				schedule, last, ok = h.Schedule, run, true
			}
		}
	}
	return schedule, last, ok
}
