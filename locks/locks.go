// Package locks is the contract between leaderrun and the systems that keep
// its locks.
//
// A backend implements [Lock], and, if it can, the interfaces of abilities.go;
// that is all that crosses the pipe to a helper program. What the rest of leaderrun works with is a lease, which package
// keepalive makes over any Lock. The rule that divides the work: a backend
// speaks with its server and reports facts, and the core alone decides when
// to renew, how long a lease may be trusted, and when to kill.
//
// Backends are found through a [Registry]. What not every backend has is told
// by [Require].
package locks

import (
	"context"
	"log/slog"
	"time"
)

// A Lock is one contender's handle on one named lock of one backend. A handle
// serves one term: once Acquire has succeeded, or a method has reported
// [ErrLost], a new campaign needs a new handle.
//
// Errors wrap one of [ErrHeld], [ErrLost], [ErrDenied], [ErrUnavailable] or
// [ErrUsage] where they can be classed; an error that wraps none of them
// is treated as ErrUnavailable. A method whose context ends returns promptly,
// with an error that wraps ctx.Err().
//
// Renew may run beside a pending Acquire, and Release and Close beside
// anything. Otherwise methods are not called concurrently.
type Lock interface {
	// Acquire campaigns for the lock and returns once it is ours.
	//
	// With try, a lock that somebody else holds is a *[HeldError] at once, and
	// nothing of the attempt stays behind. Without try, Acquire enters the
	// queue, calls [Options].Waiting each time it learns what it waits for, and
	// blocks until the lock is ours or ctx ends. It rides out outages of the
	// server that the place in the queue survives. A backend that cannot wait
	// may return a *HeldError without try, too: the campaign is then repeated.
	//
	// A server that does not answer within [Options].ConnectTimeout, before a
	// place in the queue is had, is ErrUnavailable. When the place in the queue
	// is gone (its lease ended, an operator deleted it), Acquire returns
	// ErrLost.
	//
	// On any error Acquire has undone what it did, or, if it could not, has left
	// only what ends by itself within the TTL, and never a held lock: an
	// acquire whose outcome is unknown is read back, and if that is impossible,
	// undone conditionally.
	Acquire(ctx context.Context, try bool) (Grant, error)

	// Renew makes one attempt to extend the lease; ctx bounds it. On success
	// the lease runs for its full TTL from some moment after Renew was called.
	//
	// ErrLost is final: the lease is surely not ours any more. Any other error
	// leaves that open and is worth another attempt. Nothing but Renew extends
	// a lease: a backend must not keep one alive by itself.
	//
	// While Acquire waits in a place that cannot end, Renew may succeed without
	// doing anything, as long as nothing was sent that could be granted: the
	// lease then runs from a later moment anyway.
	Renew(ctx context.Context) error

	// Release gives the lock up, only if it is still ours: the condition is our
	// own nonce or token, never the name alone. It is idempotent, and nil when
	// there is nothing to give up. ctx bounds it.
	Release(ctx context.Context) error

	// Lost delivers at most one error, which wraps ErrLost, when the backend
	// learns between renewals that the lock is surely not ours any more (a
	// watch fired). It may be nil: then only Renew tells. The channel is the
	// same on each call, and is not closed.
	Lost() <-chan error

	// Close frees what the handle uses in this process. It releases nothing:
	// a lock held by a closed handle ends with its lease.
	Close() error
}

// A Grant says what Acquire was granted.
type Grant struct {
	// Token is the fencing token: strictly greater than that of every earlier
	// grant of the same lock, for ever.
	Token uint64
	// TTL is the lease as the server granted it, rounded down. 0 means that it
	// cannot end while this process lives (flock).
	TTL time.Duration
	// Clean reports that the previous holder is known to have released the
	// lock, or that there was none. False means only that it is not known.
	Clean bool
}

// Options are what a contender asks for.
type Options struct {
	// Name is the lock's name, checked by [CheckSlotName]: that of a lock, or of
	// one of its slots.
	Name string
	// Holder is who we are, as others see it in a Status. Any text.
	Holder string
	// PID is the process that holds the lock, as others see it in a Status. 0: this
	// one.
	PID int
	// RunID is random and no other run's. A backend that can keeps it beside
	// the holder, for Status.RunID. At most 64 bytes; may be empty.
	RunID string
	// TTL is the lease to ask for, in (0, 24h]. A backend rounds it up to what
	// its server can grant and reports that in Grant.TTL.
	TTL time.Duration
	// ConnectTimeout bounds the time until the server has answered, in
	// (0, 1h].
	ConnectTimeout time.Duration
	// Version is leaderrun's own version, for the lock's record.
	Version string
	// Priority is kept beside our place in the queue, for Place.Priority; the
	// queue does not heed it. In [-MaxPriority, MaxPriority].
	Priority int
	// NoResign is kept beside the holder, for Status.NoResign.
	NoResign bool
	// Logger gets what an operator may want to know. Renewals are Debug,
	// transitions Info, what is retried Warn. Nil discards.
	Logger *slog.Logger
	// Waiting, if not nil, is called by Acquire, without try, when the lock is
	// found held and each time what is known about it changes. It must not
	// block.
	Waiting func(Waiting)
}

// MaxPriority is the greatest priority, and its negative the least.
const MaxPriority = 1000

// Waiting says what an Acquire waits for.
type Waiting struct {
	// Status is what is known about the holder; its fields may be empty.
	Status Status `json:"status"`
	// Lease is the granted TTL of our place in the queue, which must be renewed
	// while we wait. 0: the place needs no renewal.
	Lease time.Duration `json:"lease_ns,omitempty"`
	// Position is our place in the queue, 1 for the next in line. 0: not known.
	Position int `json:"position,omitempty"`
}

// Status is what a backend can tell about a lock. All of it was written by
// somebody else, perhaps in bad faith: see [Printable].
type Status struct {
	Held   bool          `json:"held"`
	Holder string        `json:"holder,omitempty"`
	RunID  string        `json:"run_id,omitempty"` // the holder's Options.RunID; "": not known
	Host   string        `json:"host,omitempty"`
	PID    int           `json:"pid,omitempty"`
	Since  time.Time     `json:"since,omitzero"` // by the holder's wall clock: for people, never for decisions
	TTL    time.Duration `json:"ttl_ns,omitempty"`
	// Left is what the server says is left of the lease, at the moment of its answer.
	// 0: not known. Below 0: it is over, and nobody has taken the lock since.
	Left    time.Duration `json:"left_ns,omitempty"`
	Token   uint64        `json:"token,omitempty"`
	Waiters int           `json:"waiters,omitempty"`
	// NoResign: the holder will not resign when asked to.
	NoResign bool `json:"no_resign,omitempty"`
	// Start is how the term began: StartClean, StartTakeover, or "": not known.
	Start string `json:"start,omitempty"`
}

// How a term begins, as Grant.Clean tells its holder.
const (
	StartClean    = "clean"    // the holder before had released, or there was none
	StartTakeover = "takeover" // it had not
)
