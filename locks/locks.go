// Package locks is the contract between leaderrun and the systems that keep
// its locks.
//
// A backend implements [Lock] and whichever interfaces of abilities.go it can. Nothing
// else crosses the pipe to a helper program. The rest of leaderrun works with a lease,
// which package keepalive makes from any Lock. One rule divides the work: a backend
// speaks with its server and reports facts; the core alone decides when to renew, how
// long to trust a lease, and when to kill.
//
// A [Registry] finds backends. [Require] checks for abilities that not every backend has.
package locks

import (
	"context"
	"log/slog"
	"time"
)

// A Lock is one contender's handle on one named lock of one backend. A handle serves one
// campaign: Acquire is called again only if a *[HeldError] refused it before its context ended.
//
// Errors wrap one of [ErrHeld], [ErrLost], [ErrDenied], [ErrUnavailable] or [ErrUsage]
// where one of them fits. An error that wraps none of them is treated as ErrUnavailable.
// A method whose context ends returns promptly, with an error that wraps ctx.Err().
//
// Renew may be called while Acquire waits. Release and Close may be called concurrently
// with any method. Otherwise methods are not called concurrently.
type Lock interface {
	// Acquire campaigns for the lock and returns once it is ours.
	//
	// With try, Acquire returns a *[HeldError] at once if somebody else holds the lock,
	// and leaves nothing behind. Without try, Acquire enters the queue, calls
	// [Options].Waiting each time it learns what it waits for, and blocks until the lock
	// is ours or ctx ends. It waits through outages of the server that the place in the
	// queue survives. A backend that cannot wait may return a *HeldError even without
	// try; the campaign is then repeated.
	//
	// If the server does not answer within [Options].ConnectTimeout, and Acquire has no
	// place in the queue yet, the error is ErrUnavailable. If the place in the queue is
	// gone (its lease ended, or an operator deleted it), the error is ErrLost.
	//
	// If ctx ends while it waits, the error is a *HeldError if the server has said lately that
	// the lock is held, and otherwise ErrUnavailable with the last failure: see
	// locks/kit/answers. That a watch reports nothing is no answer, so Acquire may have to look
	// once more before ctx ends.
	//
	// Before it returns an error, Acquire undoes what it did. What it cannot undo must
	// end by itself within the TTL, and must never be a held lock: if the outcome of an
	// acquire is unknown, Acquire reads it back, or, if that is impossible, undoes it
	// conditionally.
	Acquire(ctx context.Context, try bool) (Grant, error)

	// Renew makes one attempt to extend the lease; ctx bounds it. On success
	// the lease runs for its full TTL from some moment after Renew was called.
	//
	// ErrLost is final: the lease is certainly no longer ours. Any other error leaves
	// that open, and another attempt is worthwhile. Only Renew extends a lease: a backend
	// must not keep one alive on its own.
	//
	// While Acquire waits in a place that cannot end, Renew may succeed without doing
	// anything, as long as no request has been sent that could be granted: the lease then
	// runs from a later moment anyway.
	Renew(ctx context.Context) error

	// Release gives the lock up, but only if it is still ours: the condition is our own
	// nonce or token, never the name alone. Release is idempotent, and returns nil if
	// there is nothing to give up. ctx bounds it.
	Release(ctx context.Context) error

	// Lost delivers at most one error, which wraps ErrLost, when the backend learns
	// between renewals that the lock is certainly no longer ours (because a watch fired,
	// say). Lost may return nil if only Renew reports a loss. It returns the same channel
	// on each call, and the channel is not closed.
	Lost() <-chan error

	// Close frees what the handle uses in this process. It releases nothing:
	// a lock held by a closed handle ends with its lease.
	Close() error
}

// A Grant describes what Acquire was granted.
type Grant struct {
	// Token is the fencing token. It is strictly greater than that of any earlier grant
	// of the same lock.
	Token uint64
	// TTL is the lease that the server granted, rounded down. 0 means that the lock
	// cannot end while this process lives (flock).
	TTL time.Duration
	// Clean reports whether the previous holder is known to have released the lock, or
	// there was no previous holder. False only means that this is not known.
	Clean bool
}

// Options describe a contender and what it asks for.
type Options struct {
	// Name is the lock's name, or that of one of its slots. [CheckSlotName] checks it.
	Name string
	// Holder is the name that others see in a Status. It can be any text.
	Holder string
	// PID is the process that others see as the holder in a Status. 0 means this one.
	PID int
	// RunID is random and unique to this run. A backend that can stores it with the
	// holder, for Status.RunID. It has at most 64 bytes and may be empty.
	RunID string
	// TTL is the lease to ask for, in (0, 24h]. A backend rounds it up to what its server
	// can grant, and reports the result in Grant.TTL.
	TTL time.Duration
	// ConnectTimeout bounds the time until the server has answered. It is in (0, 1h].
	ConnectTimeout time.Duration
	// Version is leaderrun's own version, for the lock's record.
	Version string
	// Priority is stored with our place in the queue, for Place.Priority. The queue
	// ignores it. It is in [-MaxPriority, MaxPriority].
	Priority int
	// NoResign is stored with the holder, for Status.NoResign.
	NoResign bool
	// Advertise is stored with the holder, for Status.Advertise. It has at most MaxAdvertise
	// bytes.
	Advertise string
	// Logger receives what an operator may want to know. Renewals are logged as Debug,
	// transitions as Info, retries as Warn. Nil discards.
	Logger *slog.Logger
	// If Waiting is not nil, Acquire calls it without try, when it finds the lock held
	// and each time it learns more about that. It must not block.
	Waiting func(Waiting)
}

// MaxAdvertise is the maximum length of what a holder publishes, in bytes.
const MaxAdvertise = 100

// MaxPriority is the greatest priority; the least is its negative.
const MaxPriority = 1000

// Waiting describes what an Acquire waits for.
type Waiting struct {
	// Status is what is known about the holder. Its fields may be empty.
	Status Status `json:"status"`
	// Lease is the granted TTL of our place in the queue, which must be renewed while we
	// wait. 0 means that the place needs no renewal.
	Lease time.Duration `json:"lease_ns,omitempty"`
	// Position is our place in the queue, 1 for the next in line. 0 means unknown.
	Position int `json:"position,omitempty"`
}

// Status is what a backend reports about a lock. Others wrote all of it, perhaps in bad
// faith: see [Printable].
type Status struct {
	Held   bool          `json:"held"`
	Holder string        `json:"holder,omitempty"`
	RunID  string        `json:"run_id,omitempty"` // the holder's Options.RunID; "" if unknown
	Host   string        `json:"host,omitempty"`
	PID    int           `json:"pid,omitempty"`
	Since  time.Time     `json:"since,omitzero"` // by the holder's wall clock; never decide by it
	TTL    time.Duration `json:"ttl_ns,omitempty"`
	// Left is how much of the lease the server said was left when it answered. 0 means
	// unknown. Less than 0 means that the lease has ended and nobody has taken the lock
	// since.
	Left time.Duration `json:"left_ns,omitempty"`
	// Confirm, if a clock that may be wrong says that the lease has ended, or nothing says whether
	// it has, is how much longer whoever asked must see it not renewed before that is believed. 0
	// means that there is nothing to wait for.
	Confirm time.Duration `json:"confirm_ns,omitempty"`
	Token   uint64        `json:"token,omitempty"`
	Waiters int           `json:"waiters,omitempty"`
	// NoResign reports whether the holder ignores requests to resign.
	NoResign bool `json:"no_resign,omitempty"`
	// Advertise is what the holder publishes for others, such as its address.
	Advertise string `json:"advertise,omitempty"`
	// Start is how the term began: StartClean, StartTakeover, or "" if unknown.
	Start string `json:"start,omitempty"`
}

// Over reports whether it is certain that the lease has ended. Nobody has the lock then, although
// nobody has released it.
func (s Status) Over() bool { return s.Held && s.Left < 0 && s.Confirm == 0 }

// The values of Status.Start correspond to Grant.Clean.
const (
	StartClean    = "clean"    // the previous holder released, or there was none
	StartTakeover = "takeover" // the previous holder did not release
)
