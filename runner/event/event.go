// Package event has the events of a run, which --events writes and metrics count.
package event

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Kind names a transition of a run.
type Kind string

// The transitions, in the order in which a run meets them. docs/events.md has a table
// of them for users.
const (
	Waiting       Kind = "waiting"        // somebody else holds the lock
	Unavailable   Kind = "unavailable"    // the backend gave no answer; it will be asked again
	Acquired      Kind = "acquired"       // the lock is ours
	Skipped       Kind = "skipped"        // the job is not run: its window needs no run any more
	Started       Kind = "started"        // the job runs, or a hook
	RenewFailed   Kind = "renew_failed"   // one renewal was not acknowledged
	Unhealthy     Kind = "unhealthy"      // a health check failed
	Resigned      Kind = "resigned"       // the lock is given up on purpose, and the job ended for it
	Lost          Kind = "lost"           // leadership was lost, or could not be kept
	Signalled     Kind = "signalled"      // the job was sent a signal
	Killed        Kind = "killed"         // the job was sent SIGKILL
	Exited        Kind = "exited"         // the first process of the job has ended
	Restarting    Kind = "restarting"     // the job will be started again, under the same lease
	Released      Kind = "released"       // the lock was given up
	ReleaseFailed Kind = "release_failed" // it was not, and frees itself when its lease ends
	Rejoining     Kind = "rejoining"      // the term is over, and another campaign follows
)

// Version is the version of the schema. A field or a kind that is new does not
// change it; one that means something else, or is gone, does.
const Version = 1

// An Event is one transition. Fields that do not apply are left out.
type Event struct {
	Version int       `json:"v"` // Version
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

	// Deadline is the moment until which the lease is ours for certain; 0: it cannot
	// end, or the event is not about a lease. It means nothing on other machines.
	Deadline clock.Instant `json:"-"`
}
