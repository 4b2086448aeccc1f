package runner

import (
	"time"
	"unicode/utf8"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Kind names a transition of a run.
type Kind string

// The transitions, in the order in which a run meets them. docs/events.md has a table
// of them for users.
const (
	EventWaiting       Kind = "waiting"        // somebody else holds the lock
	EventUnavailable   Kind = "unavailable"    // the backend gave no answer; it will be asked again
	EventAcquired      Kind = "acquired"       // the lock is ours
	EventSkipped       Kind = "skipped"        // the job is not run: its window needs no run any more
	EventStarted       Kind = "started"        // the job runs, or a hook
	EventRenewFailed   Kind = "renew_failed"   // one renewal was not acknowledged
	EventUnhealthy     Kind = "unhealthy"      // a health check failed
	EventResigned      Kind = "resigned"       // the lock is given up on purpose, and the job ended for it
	EventLost          Kind = "lost"           // leadership was lost, or could not be kept
	EventSignalled     Kind = "signalled"      // the job was sent a signal
	EventKilled        Kind = "killed"         // the job was sent SIGKILL
	EventExited        Kind = "exited"         // the first process of the job has ended
	EventRestarting    Kind = "restarting"     // the job will be started again, under the same lease
	EventReleased      Kind = "released"       // the lock was given up
	EventReleaseFailed Kind = "release_failed" // it was not, and frees itself when its lease ends
	EventRejoining     Kind = "rejoining"      // the term is over, and another campaign follows
)

// EventVersion is that of the schema of events. A field or a kind that is new
// does not change it; one that means something else, or is gone, does.
const EventVersion = 1

// An Event is one transition. Fields that do not apply are left out.
type Event struct {
	Version int       `json:"v"` // EventVersion
	Time    time.Time `json:"time"`
	Kind    Kind      `json:"event"`
	Lock    string    `json:"lock"`
	Holder  string    `json:"holder"`
	RunID   string    `json:"run,omitempty"` // as in locks.Status
	Token   uint64    `json:"token,omitempty"`
	Slot    int       `json:"slot,omitempty"` // ours, of a lock that has several
	Hook    string    `json:"hook,omitempty"` // it is about this hook, and not about the job
	PID     int       `json:"pid,omitempty"`
	Signal  string    `json:"signal,omitempty"`  // "TERM"
	Code    *int      `json:"code,omitempty"`    // as a shell would show it: 128+N for a signal
	Reason  string    `json:"reason,omitempty"`  // for people
	Class   string    `json:"class,omitempty"`   // of the reason: one of a few words, see class.go
	TTLMS   int64     `json:"ttl_ms,omitempty"`  // the lease as granted
	LeftMS  *int64    `json:"left_ms,omitempty"` // what is left of the lease

	// Deadline is until when the lease surely is ours, for who counts it down; 0:
	// it cannot end, or the event is none of a lease. Others could not read it.
	Deadline clock.Instant `json:"-"`
}

// maxReason is the most of a reason that is told, in bytes. A pipe takes a line
// of 4 KiB whole or not at all, and JSON may write a byte as six.
const maxReason = 500

// emit hands an event to whoever asked for events.
func (r *run) emit(e Event) {
	if r.Events == nil {
		return
	}
	e.Version, e.Time = EventVersion, time.Now()
	e.Lock, e.Holder, e.RunID, e.Token, e.Slot = r.Lock, r.Holder, r.RunID, r.grant.Token, r.slot
	if len(e.Reason) > maxReason {
		cut := maxReason
		for !utf8.RuneStart(e.Reason[cut]) {
			cut--
		}
		e.Reason = e.Reason[:cut] + "…"
	}
	r.Events(e)
}

// tellAcquired emits the event of a lock that was just acquired.
func (r *run) tellAcquired() {
	e := Event{Kind: EventAcquired}
	if deadline, ends := r.lease.Deadline(); ends {
		left := deadline.Sub(r.Clock.Now()).Milliseconds()
		e.TTLMS, e.LeftMS, e.Deadline = r.grant.TTL.Milliseconds(), &left, deadline
	}
	r.emit(e)
}
