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

// Bounds of what the record has about runs.
const (
	maxSchedules   = 4   // schedules; the one used least recently is forgotten
	maxScheduleLen = 128 // bytes of a schedule
	maxDone        = 24  // runs per schedule
	maxBy          = 64  // bytes of a holder's name
)

// A Run is a run that succeeded.
type Run struct {
	Window int64  `json:"slot"`            // the key of a window.Window
	By     string `json:"by,omitempty"`    // the holder; cut to 64 bytes
	At     int64  `json:"at,omitempty"`    // when it ended, in seconds since 1970; 0: not known
	Token  uint64 `json:"token,omitempty"` // of its term
	// Begins is when the window is scheduled to begin, in seconds since 1970, by the zone of its
	// host; 0: as Window says.
	Begins int64 `json:"begins,omitempty"`
}

// A history is what is known about one schedule. A window is done if it is listed, or is not
// above the floor. The floor rises only when a run is dropped from the list, and the lowest
// run is dropped first. So nothing that was done is forgotten. And if a host's clock is a year
// ahead, and it has finished windows of the future, the others do not skip the windows before
// those: the host's runs stay in the list. (That holds for 24 of them. If a host goes on like
// that for longer, its first run is dropped, because nothing here knows whose clock is right.)
type history struct {
	Schedule string `json:"spec"`
	Floor    *int64 `json:"floor,omitempty"` // nil: none
	Done     []Run  `json:"done,omitempty"`  // by rising windows
}

// Done reports whether a window of a schedule needs no further run, and returns the run that
// was for it. The run has only its Window if all that is known is that this window, or a later
// one, is done.
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

// Finish notes a run that succeeded, of a schedule of at most 128 bytes.
func (r *Record) Finish(schedule string, run Run) error {
	if len(schedule) > maxScheduleLen || schedule == "" || !utf8.ValidString(schedule) {
		return fmt.Errorf("note a run: the schedule %q has not 1 to %d bytes of UTF-8", locks.Abbreviate(schedule), maxScheduleLen)
	}
	run.By = locks.Cut(strings.ToValidUTF8(run.By, "?"), maxBy) // in JSON, an invalid byte takes three
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

// Unfinish takes back the run of a window that the term with this token has noted. What was
// dropped from the list to make room for it stays known as superseded.
func (r *Record) Unfinish(schedule string, window int64, token uint64) {
	i := r.find(schedule)
	if i < 0 {
		return
	}
	h := &r.runs[i]
	if at, ok := h.search(window); ok && h.Done[at].Token == token {
		h.Done = slices.Delete(h.Done, at, at+1)
	}
}

func (r *Record) find(schedule string) int {
	return slices.IndexFunc(r.runs, func(h history) bool { return h.Schedule == schedule })
}

// search returns the position of a window in the list, or where to insert it.
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

// drop removes the lowest run from the list.
func (h *history) drop() {
	floor := h.Done[0].Window
	h.Floor = &floor
	h.Done = slices.Delete(h.Done, 0, 1)
}

// shrink makes the record shorter, and reports whether it could. It drops a run from the longest
// list, but never a list's last run, which may be far ahead. If no list has another run, it
// drops the longest name.
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

// Last returns the run that ended last, of any schedule, and its schedule.
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
