package queue

import (
	"context"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Store is one handle's access to the server that keeps a lock's queue. Its methods may
// be called concurrently with each other and with those of an Entry. Each is bounded by ctx
// and by the connect timeout. Within that time it retries errors that may pass, unless a
// second attempt could do harm.
type Store interface {
	// NewEntry prepares an entry for a campaign, with a nonce that distinguishes it from
	// all others. It does not contact the server.
	NewEntry(c *Campaign) (Entry, error)

	// Inspect reports who leads and who waits. Its answer must not be that of a server
	// that lags behind.
	Inspect(ctx context.Context) (locks.State, error)
	// Record returns the lock's record, or nil if there is none. Anybody may have written
	// it, at any length.
	Record(ctx context.Context) ([]byte, error)
	// Ask leaves a request, as [handle.NewRequest] made it, for the entry with a token, on the
	// condition that this entry leads. If it does not lead, Ask need do nothing.
	Ask(ctx context.Context, token uint64, request []byte) error
	// Break deletes the entry with a token if it leads in the step that deletes it.
	// Otherwise Break changes nothing and returns an error that wraps ErrLost.
	Break(ctx context.Context, token uint64) error
	// Forget deletes the record and requests if the queue is empty in the step that
	// deletes them. Otherwise it changes nothing and returns a *locks.HeldError.
	Forget(ctx context.Context) error

	// List lists all locks, as [locks.Lister] says.
	List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error)
	// Watch watches this lock, or all, until ctx ends or it cannot go on. It calls begun as
	// soon as it watches, and changed after each change. Both functions return at once.
	Watch(ctx context.Context, all bool, begun, changed func()) error
	// Probe reports the state of the servers, as [locks.Prober] says.
	Probe(ctx context.Context) (locks.Servers, error)

	// Fault classifies an error that a method of the Store or of an Entry returned, unless
	// the error already has a class: ErrLost, ErrHeld or ErrUsage.
	Fault(err error) Fault
	// Close frees what the store uses in this process, and waits for what still runs.
	Close()
}

// An Entry is what one campaign has in the queue. A session (or a lease) of its own owns
// it: the entry ends with the session, and only Renew extends the session. An error that
// wraps ErrLost means that the entry or its session is definitely no longer ours; the
// handle cannot be used after that.
//
// One goroutine calls Enter, Await and Look. The other methods may be called concurrently
// with these and with each other. Nothing is renewed until Enter has called
// [Campaign.Granted].
type Entry interface {
	// Enter begins the session and enters the queue, within the connect timeout. If the
	// answer to a request was lost, it finds the outcome by the nonce, or repeats the
	// request in a way that makes only one entry. If try is set, it enters only if nobody
	// is in the queue, in one step.
	Enter(ctx context.Context, try bool) (View, error)
	// Await blocks until the part of the queue before us may have changed since the last
	// View, until ctx ends, or until it can no longer watch the queue. Look follows, also
	// after an error that is Transient.
	Await(ctx context.Context) error
	// Look returns the state of the queue, or ErrLost if our entry is gone. Unless Await has
	// proved that we lead, it asks the server.
	Look(ctx context.Context) (View, error)

	// WatchEntry blocks until our own entry is gone, which is ErrLost, until ctx ends, or
	// until the watch ends. In the last case it is called again after a pause.
	WatchEntry(ctx context.Context, pause *backoff.Backoff) error
	// Update writes the label of our entry again, once we lead after a wait, so that it
	// says since when. If our entry is gone, it may return ErrLost.
	Update(ctx context.Context) error
	// WatchRequests delivers requests to the inbox until ctx ends or the watch ends; in the
	// last case it is called again after a pause. It also delivers a request that was left
	// while nothing was watching. It returns an error only if we are not allowed to read
	// requests; then it is not called again.
	WatchRequests(ctx context.Context, in *Inbox) error

	// Renew makes one attempt, as [locks.Lock] says.
	Renew(ctx context.Context) error
	// Write replaces the lock's record, on the condition that our entry exists, and so
	// leads, and that the record is as we last knew it. So a request that arrives late
	// changes nothing. If our entry is gone, Write returns ErrLost.
	Write(ctx context.Context, text []byte) error

	// Term describes an entry that leads, or waits with a Token in its View, for Adopt. Adopt
	// is called instead of Enter, on a new Entry, and makes it the one that was described: it
	// passes the TTL to [Campaign.Granted] and returns the token. It does not contact the
	// server and extends nothing. If it cannot read the term, the error is an ErrUsage. If
	// the entry waits, Look follows.
	Term() string
	Adopt(term string) (token uint64, err error)
	// End is called once, when the campaign is over. From then on only Leave may send
	// anything for the entry.
	End(why error)
	// Leave ends the session, and with it the entry and nothing else, in one step. It is
	// called after End, never concurrently with itself, perhaps while Enter still runs, and
	// then again after Enter has returned. If there is nothing to end, it succeeds.
	Leave(ctx context.Context) error
}

// A Line is the state of a queue according to one answer.
type Line struct {
	Head    *Head // nil: nobody leads
	Waiters int
}

// A Head is the entry that leads.
type Head struct {
	Token uint64
	Label []byte // as NewLabel made it; or anything, if somebody else wrote it
	// Ended reports that the server has ended its session, and that nobody has taken its place, for
	// which Confirm is left: see [locks.Status].
	Ended   bool
	Confirm time.Duration
}

// Status returns what the label of the entry that leads says.
func (l Line) Status() locks.Status {
	if l.Head == nil {
		return locks.Status{}
	}
	s := l.Head.status()
	s.Waiters = l.Waiters
	return s
}

// A View is a Line as one campaign sees it.
type View struct {
	Line
	Token    uint64 // of our entry; 0: we have none
	Leads    bool   // whether our entry leads
	Position int    // of our entry, from 1; 0: unknown
}

// A Fault says what an error means.
type Fault struct {
	// Explained has the class, [locks.ErrDenied] or [locks.ErrUnavailable], the error in one
	// line without secrets, and a hint.
	Explained *locks.Error
	// Timeout reports that nothing is known except that the time was up.
	Timeout bool
	// Transient reports that another attempt may succeed.
	Transient bool
}

// Traits describe a store.
type Traits struct {
	Backend string // the scheme and the address, with the prefix, for messages
	// Secrets are the variables that a job must not see: see [locks.SecretReader].
	Secrets []string
	// Clock is this machine's clock; nil means its boot clock. Only a simulated store has
	// another one: [clock.Bubble].
	Clock clock.Clock
	// Unordered reports that the server does not know who waits, and that waiters get the
	// lock in no particular order.
	Unordered bool
}

// A Tidier is an Entry that has something to do before a release, while its session still
// exists.
type Tidier interface {
	Entry
	Tidy(ctx context.Context)
}

const (
	// undoTimeout bounds the attempt to undo an Acquire that failed. If it is too short,
	// the entry ends with its session.
	undoTimeout = time.Second
	// putOff is how long we put off what a short job does not need.
	putOff = 100 * time.Millisecond
)
