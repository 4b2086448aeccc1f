// Package event defines the events of a run, which --events writes and metrics count.
package event

import (
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Kind names a transition of a run.
type Kind string

// The transitions, in the order in which they occur. docs/events.md describes them for
// users.
const (
	Waiting       Kind = "waiting"        // somebody else holds the lock
	Unavailable   Kind = "unavailable"    // the backend gave no answer; it will be asked again
	Acquired      Kind = "acquired"       // the lock is ours
	Skipped       Kind = "skipped"        // the job does not run, because it has already run in its window
	Started       Kind = "started"        // the job runs, or a hook
	RenewFailed   Kind = "renew_failed"   // one renewal was not acknowledged
	Unhealthy     Kind = "unhealthy"      // a health check failed
	Resigned      Kind = "resigned"       // we release the lock, and end the job, although the lease is ours
	Lost          Kind = "lost"           // leadership was lost, or could not be kept
	Signalled     Kind = "signalled"      // leaderrun signalled the job
	Killed        Kind = "killed"         // leaderrun killed the job
	Exited        Kind = "exited"         // the first process of the job has ended
	Restarting    Kind = "restarting"     // the job will be started again, under the same lease
	Released      Kind = "released"       // the lock was released
	ReleaseFailed Kind = "release_failed" // the lock was not released, and is free when its lease ends
	Rejoining     Kind = "rejoining"      // the term is over, and another campaign follows
	NotRun        Kind = "not_run"        // the run has ended, and the job was never started
)

// Version is the version of the schema. It changes if a field or a kind is removed or gets
// another meaning, but not if one is added.
const Version = 1

// An Event is one transition. Fields that do not apply are omitted.
type Event struct {
	Version int       `json:"v"` // Version
	Time    time.Time `json:"time"`
	Kind    Kind      `json:"event"`
	Lock    string    `json:"lock"`
	ID      string    `json:"id"`               // ours, which others see as the holder
	RunID   string    `json:"run,omitempty"`    // as in locks.Status
	Holder  string    `json:"holder,omitempty"` // who holds the lock instead of us
	Token   uint64    `json:"token,omitempty"`
	Slot    int       `json:"slot,omitempty"` // 0: the lock has no slots
	Hook    string    `json:"hook,omitempty"` // the event is about this hook, not about the job
	PID     int       `json:"pid,omitempty"`
	Signal  string    `json:"signal,omitempty"`  // "TERM"
	Code    *int      `json:"code,omitempty"`    // as a shell would show it: 128+N for a signal
	Reason  string    `json:"reason,omitempty"`  // for people
	Class   string    `json:"class,omitempty"`   // of the reason; see class.go
	TTLMS   int64     `json:"ttl_ms,omitempty"`  // the lease as granted
	LeftMS  *int64    `json:"left_ms,omitempty"` // what is left of the lease

	// Deadline is the moment until which the lease is ours for certain. It is 0 if the
	// lease cannot end, or the event is not about a lease. It means nothing on other
	// machines.
	Deadline clock.Instant `json:"-"`
}
