package view

import (
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/runner/window"
)

// version is the version of the JSON that this package writes. New fields do not change the
// version, but a new meaning of a field does.
const version = 1

// A Report is what `leaderrun status -o json` prints.
type Report struct {
	V       int       `json:"v"`
	Time    time.Time `json:"time"`    // ours
	Backend string    `json:"backend"` // as given
	Store   string    `json:"store"`   // what that leads to
	Locks   []JSON    `json:"locks"`
}

// JSON is a lock. Unknown fields are omitted. Others wrote the texts, so characters that
// cannot be printed are escaped.
type JSON struct {
	Lock      string    `json:"lock"`
	State     string    `json:"state"` // free, held or lapsed
	Holder    string    `json:"holder,omitempty"`
	RunID     string    `json:"run_id,omitempty"`
	Host      string    `json:"host,omitempty"`
	PID       int       `json:"pid,omitempty"`
	Since     time.Time `json:"since,omitzero"` // by the holder's clock
	Token     uint64    `json:"token,omitempty"`
	TTLMS     int64     `json:"ttl_ms,omitempty"`
	LeftMS    *int64    `json:"left_ms,omitempty"`    // what was left of the lease when we looked
	Confirm   int64     `json:"confirm_ms,omitempty"` // as in [locks.Status]
	Start     string    `json:"start,omitempty"`      // clean or takeover
	NoResign  bool      `json:"no_resign,omitempty"`
	Advertise string    `json:"advertise,omitempty"` // what the holder publishes
	Stopping  *Stopping `json:"stopping,omitempty"`
	Waiters   *int      `json:"waiters,omitempty"`
	Queue     []Waiter  `json:"queue,omitempty"` // the next in line first
	LastRun   *LastRun  `json:"last_run,omitempty"`
	Details   []string  `json:"details,omitempty"`
	Odd       []string  `json:"odd,omitempty"` // what makes no sense
}

// Stopping says that the holder's job was asked to stop, and has not ended at once. The times are
// by the holder's clock.
type Stopping struct {
	Since time.Time `json:"since"`
	Kill  time.Time `json:"kill"` // when it is killed at the latest
}

// A Waiter is a waiter in a queue.
type Waiter struct {
	Holder   string    `json:"holder"`
	Since    time.Time `json:"since,omitzero"`
	Priority int       `json:"priority,omitempty"`
}

// LastRun is the last run that --once-per has recorded.
type LastRun struct {
	Schedule string    `json:"schedule"`
	Window   time.Time `json:"window,omitzero"` // when its window is scheduled to begin, in the zone of its host
	Label    string    `json:"label,omitempty"` // the same, as messages show it
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at,omitzero"` // when it ended
	Token    uint64    `json:"token,omitempty"`
}

// NewReport returns a report on locks.
func NewReport(backend, store string, all []Lock, now time.Time) Report {
	r := Report{V: version, Time: now.UTC().Truncate(time.Millisecond), Backend: backend, Store: store, Locks: []JSON{}}
	for i := range all {
		r.Locks = append(r.Locks, all[i].JSON())
	}
	return r
}

// JSON returns the lock as JSON.
func (l *Lock) JSON() JSON {
	j := JSON{
		Lock: l.Name, State: l.Is(),
		Holder: locks.Printable(l.Holder), RunID: locks.Printable(l.RunID), Host: locks.Printable(l.Host), PID: l.PID,
		Since: l.Since, Token: l.Token, TTLMS: l.TTL.Milliseconds(), Start: locks.Printable(l.Start), NoResign: l.NoResign, Advertise: locks.Printable(l.Advertise),
	}
	if l.Counted || l.Waiters > 0 {
		j.Waiters = &l.Waiters
	}
	if l.Left != 0 {
		left := l.Left.Milliseconds()
		j.LeftMS, j.Confirm = &left, l.Confirm.Milliseconds()
	}
	if s := l.Stopping; s != nil {
		j.Stopping = &Stopping{time.Unix(s.Since, 0).UTC(), time.Unix(s.Kill, 0).UTC()}
	}
	for _, p := range l.Queue {
		j.Queue = append(j.Queue, Waiter{locks.Printable(p.Holder), p.Since, p.Priority})
	}
	if r := l.Last; r != nil {
		j.LastRun = &LastRun{Schedule: locks.Printable(r.Spec), Window: r.begins(), Label: locks.Printable(window.Label(r.Spec, r.Window)), By: locks.Printable(r.By), Token: r.Token}
		if r.At > 0 {
			j.LastRun.At = time.Unix(r.At, 0).UTC()
		}
	}
	for _, d := range l.Details {
		j.Details = append(j.Details, locks.Printable(d))
	}
	for _, odd := range l.Odd {
		j.Odd = append(j.Odd, locks.Printable(odd))
	}
	return j
}

// begins returns when the window of a run is scheduled to begin, or a zero time if that is invalid.
// The window of a schedule in wall time has that of its host, as if it were UTC, so it says the zone.
func (r *Run) begins() time.Time {
	if r.Window <= 0 || r.Window > lastSecond {
		return time.Time{}
	}
	east := r.Window - r.Begins
	if r.Begins <= 0 || max(east, -east) >= 24*60*60 {
		return time.Unix(r.Window, 0).UTC()
	}
	return time.Unix(r.Begins, 0).In(time.FixedZone("", int(east)))
}
