package runner

import (
	"time"
)

// A Kind names a transition of a run.
type Kind string

// The transitions, in the order in which a run meets them.
const (
	EventWaiting     Kind = "waiting"      // somebody else holds the lock
	EventUnavailable Kind = "unavailable"  // the backend gave no answer; it will be asked again
	EventAcquired    Kind = "acquired"     // the lock is ours
	EventStarted     Kind = "started"      // the job runs
	EventRenewFailed Kind = "renew_failed" // one renewal was not acknowledged
	EventSignalled   Kind = "signalled"    // the job was sent a signal
	EventKilled      Kind = "killed"       // the job was sent SIGKILL
	EventLost        Kind = "lost"         // leadership was lost, or could not be kept
	EventReleased    Kind = "released"     // the lock was given up
	EventExited      Kind = "exited"       // the first process of the job has ended
	EventRestarting  Kind = "restarting"   // the job will be started again, under the same lease
	EventUnhealthy   Kind = "unhealthy"    // a health check failed
	EventResigned    Kind = "resigned"     // the lock is given up on purpose, and the job ended for it
	EventRejoining   Kind = "rejoining"    // the term is over, and another campaign follows
)

// An Event is one transition. Fields that do not apply are left out.
type Event struct {
	Time   time.Time `json:"time"`
	Kind   Kind      `json:"event"`
	Lock   string    `json:"lock"`
	Holder string    `json:"holder"`
	Token  uint64    `json:"token,omitempty"`
	Slot   int       `json:"slot,omitempty"` // ours, of a lock that has several
	Hook   string    `json:"hook,omitempty"` // it is about this hook, and not about the job
	PID    int       `json:"pid,omitempty"`
	Signal string    `json:"signal,omitempty"` // "TERM"
	Code   *int      `json:"code,omitempty"`   // as a shell would show it: 128+N for a signal
	Reason string    `json:"reason,omitempty"`
	LeftMS *int64    `json:"left_ms,omitempty"` // what is left of the lease
}

// emit hands an event to whoever asked for events.
func (r *run) emit(e Event) {
	if r.Events == nil {
		return
	}
	e.Time, e.Lock, e.Holder, e.Token, e.Slot = time.Now(), r.Lock, r.Holder, r.grant.Token, r.slot
	r.Events(e)
}
