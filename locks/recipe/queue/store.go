package queue

import (
	"context"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/record"
)

// A Store is what one handle sees of the server that keeps a lock's queue. Its methods
// may run beside each other, and beside those of a Place. Each is bounded by ctx, and by
// the connect timeout: within that it repeats what may pass, if it does no harm twice.
type Store interface {
	// Place prepares a place in the queue, with a nonce by which the server knows it
	// from all others. It contacts nobody.
	Place(e *Entry) (Place, error)

	// Inspect tells who leads and who waits, as no server that lags behind would.
	Inspect(ctx context.Context) (locks.State, error)
	// Record returns the text beside the lock, or nil. It may be anybody's, and of any
	// length.
	Record(ctx context.Context) ([]byte, error)
	// Ask leaves a request (see package record) for the entry with a token, on the
	// condition that this leads. If it does not, nothing need be done.
	Ask(ctx context.Context, token uint64, request []byte) error
	// Break deletes the entry with a token, if it leads in the step that deletes it;
	// else nothing is changed, and the error is an ErrLost.
	Break(ctx context.Context, token uint64) error
	// Forget deletes the record and requests, if the queue is empty in the step that
	// does so; else nothing, and the error is a *locks.HeldError.
	Forget(ctx context.Context) error

	// Fault judges an error that one of the methods has returned, here or of a Place,
	// and that has no class yet: it is not ErrLost, ErrHeld or ErrUsage.
	Fault(err error) Fault
	// Close frees what the store uses in this process, and waits for what runs.
	Close()
}

// A Place is one contender's: an entry in the queue, owned by a session (or a lease) of
// its own. The entry ends with its session, and nothing but Renew extends that. An error
// that wraps ErrLost says that entry or session surely are not ours any more; then the
// handle is of no more use.
//
// One goroutine calls Enter, Await and Look. The other methods may run beside these and
// each other. Until Enter has called e.Granted, nothing is renewed.
type Place interface {
	// Enter begins the session and enters the queue, within the connect timeout. A
	// request whose answer was lost is resolved by the nonce, or repeated so that the
	// entry is made once. With try it enters only if nobody is before it, in one step.
	Enter(ctx context.Context, try bool) (View, error)
	// Await blocks until what the last View showed before us may have changed, ctx ends,
	// or it cannot be told any more. An error that may pass is that of a disturbance:
	// Look follows.
	Await(ctx context.Context) error
	// Look tells how the queue is now. It is ErrLost if our entry is gone.
	Look(ctx context.Context) (View, error)

	// Guard watches our own entry, until it is gone, which is ErrLost, ctx ends, or the
	// watch does: then it is called again, after a pause.
	Guard(ctx context.Context, pause *backoff.Backoff) error
	// Restamp writes anew what the entry says, once we lead after a wait.
	Restamp(ctx context.Context) error
	// Hear listens for requests, and hands each on to the ear, until ctx ends or it
	// cannot go on: then it is called again, after a pause. What was left while nobody
	// listened is handed on, too. After an error, that we may not listen, it is not.
	Hear(ctx context.Context, ear *Ear) error

	// Renew makes one attempt, as [locks.Lock] says.
	Renew(ctx context.Context) error
	// Write replaces the text beside the lock, on the condition that our entry is there,
	// and so leads, and that the text is as it was last known: a request that comes late
	// changes nothing. Who finds the entry gone returns ErrLost.
	Write(ctx context.Context, text []byte) error

	// Term describes the place, once it leads, and Adopt makes a new one that, in place
	// of Enter: it notes the TTL with e.Granted, and returns the token. It contacts
	// nobody, and extends nothing. If the text makes no sense, the error is an ErrUsage.
	Term() string
	Adopt(term string) (token uint64, err error)
	// End is called once, when the place is over. Nothing is sent for it any more, but
	// by Leave.
	End(why error)
	// Leave ends the session, and with it the entry, and nothing else, in one step. It is
	// called after End, one call at a time, perhaps while Enter is still on its way, and
	// again after that. That there is nothing to end is a success.
	Leave(ctx context.Context) error
}

// A Line is what one answer told about a queue.
type Line struct {
	Head    *Head // nil: nobody leads
	Waiters int
}

// A Head is the entry that leads.
type Head struct {
	Token uint64
	Data  []byte // as package record makes it, or anybody's
}

// Status is what the entry that leads says.
func (l Line) Status() locks.Status {
	if l.Head == nil {
		return locks.Status{}
	}
	s := record.Status(l.Head.Data, l.Head.Token)
	s.Waiters = l.Waiters
	return s
}

// A View is a Line as one contender sees it.
type View struct {
	Line
	Token    uint64 // of our entry; 0: there is none
	Leads    bool   // our entry does
	Position int    // ours, from 1; 0: not known
}

// A Fault is what an error means.
type Fault struct {
	// Class is [locks.ErrDenied] or [locks.ErrUnavailable], Text the error in words that
	// fit one line and have no secret, Hint what the user might do about it.
	Class      error
	Text, Hint string
	// Vague: nothing is known but that the time was up.
	Vague bool
	// Passing: another attempt may succeed.
	Passing bool
}

// Traits are what must be known of a store.
type Traits struct {
	Backend string // the scheme and the address, for messages
	// Secrets are the variables that a job is not to see: see [locks.SecretReader].
	Secrets []string
	// Unordered: who waits is not known to the server, and is served in no order.
	Unordered bool
}

// A Lister is a Store that can list locks, as [locks.Lister] says.
type Lister interface {
	Store
	List(ctx context.Context, cursor string) (page []locks.Listed, next string, err error)
}

// A Watcher is a Store that tells of changes, as [locks.Watcher] says.
type Watcher interface {
	Store
	// Watch calls begun as soon as it looks, and tell after each change, until ctx ends
	// or it cannot go on. Both return at once.
	Watch(ctx context.Context, all bool, begun, tell func()) error
}

// A Prober is a Store that can tell about its servers, as [locks.Prober] says.
type Prober interface {
	Store
	Probe(ctx context.Context) (locks.Servers, error)
}

// A Tidier is a Place that has something to do before a release, while its session is
// there.
type Tidier interface {
	Place
	Tidy(ctx context.Context)
}

const (
	// undoTimeout bounds the attempt to undo an Acquire that failed. What it does not
	// reach ends with the session.
	undoTimeout = time.Second
	// lazily is how long what a short job does not need is put off.
	lazily = 100 * time.Millisecond
)
