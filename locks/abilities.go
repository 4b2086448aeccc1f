package locks

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
	"unicode/utf8"
)

// An Ability is something that not every backend can do.
type Ability string

// The abilities, each with the interface that provides it.
const (
	CanInspect Ability = "inspect" // Inspector
	CanQueue   Ability = "queue"   // Inspector, with the waiters in State.Queue, in order and with priorities
	CanRecord  Ability = "record"  // Recorder
	CanAsk     Ability = "ask"     // Asker
	CanList    Ability = "list"    // Lister
	CanWatch   Ability = "watch"   // Watcher
	CanBreak   Ability = "break"   // Breaker
	CanProbe   Ability = "probe"   // Prober
	CanForget  Ability = "forget"  // Forgetter
)

// Able is a Lock that declares its abilities.
type Able interface {
	// Abilities returns them. It blocks until they are known or ctx ends. A helper
	// program reports them when it has opened the lock, which contacts no server.
	Abilities(ctx context.Context) ([]Ability, error)
}

// Require returns an ErrUsage if l lacks one of the needed abilities; what names the
// option or subcommand that needs them. If the abilities cannot be determined, Require
// returns that error.
func Require(ctx context.Context, l Lock, what string, needed ...Ability) error {
	var has []Ability
	if a, ok := l.(Able); ok {
		var err error
		if has, err = a.Abilities(ctx); err != nil {
			return err
		}
	}
	for _, n := range needed {
		if !slices.Contains(has, n) {
			return &UsageError{What: fmt.Sprintf("%s: this backend cannot %s", what, lacking[n])}
		}
	}
	return nil
}

var lacking = map[Ability]string{
	CanInspect: "report who holds a lock",
	CanQueue:   "report who waits for a lock",
	CanRecord:  "keep a record with a lock",
	CanAsk:     "pass requests on to the holder",
	CanList:    "list its locks",
	CanWatch:   "report changes",
	CanBreak:   "take a lock away from its holder",
	CanProbe:   "report the state of its servers",
	CanForget:  "delete what it keeps of a lock",
}

// An Inspector reports the state of a lock without contending for it. Inspect may be
// called at any time until Close, on a handle that has never acquired, and concurrently
// with Acquire and Renew. It reports the present state on the server, not that of a
// lagging replica.
type Inspector interface {
	Inspect(ctx context.Context) (State, error)
}

// A State is all that a backend can report about a lock.
type State struct {
	Status
	// Queue lists up to MaxQueue waiters, the next in line first. It is empty without
	// CanQueue.
	Queue []Place `json:"queue,omitempty"`
	// Details are up to MaxDetails lines, for people, about what only this backend has, such
	// as the votes of members.
	Details []string `json:"details,omitempty"`
}

// MaxQueue is the largest number of places in a State, and MaxDetails that of its details.
const (
	MaxQueue   = 64
	MaxDetails = 32
)

// A Place is one contender in a queue.
type Place struct {
	Holder   string    `json:"holder,omitempty"`
	RunID    string    `json:"run_id,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Priority int       `json:"priority,omitempty"`
}

// MaxRecord is the size limit of a record, in bytes. Google Cloud Storage has 8 KiB for
// everything that it stores with a lock.
const MaxRecord = 4096

// CheckText returns an ErrUsage if text is not acceptable to a Recorder or an Asker.
func CheckText(text []byte) error {
	switch {
	case len(text) > MaxRecord:
		return &UsageError{What: fmt.Sprintf("text of %d bytes; at most %d are allowed", len(text), MaxRecord)}
	case !utf8.Valid(text):
		return &UsageError{What: "text that is not valid UTF-8"}
	}
	return nil
}

// A Recorder keeps one small text with the lock, permanently: it survives releases,
// losses, takeovers and restarts of the server.
type Recorder interface {
	// Record returns the text, or nil if none was ever set. The caller need not hold the
	// lock. The text is at least as recent as that of any SetRecord that had returned, on
	// any handle, before Record was called. Anyone who can lead can write it, so do not
	// trust it.
	Record(ctx context.Context) ([]byte, error)
	// SetRecord replaces the text with valid UTF-8 of at most MaxRecord bytes, if the
	// lock is still ours. The server checks that in the step that writes: after a
	// takeover it writes nothing, and the error is ErrLost. After any other error the
	// text may or may not have been written; repeating the call is harmless. SetRecord
	// does not extend the lease. It may be called concurrently with Renew.
	SetRecord(ctx context.Context, text []byte) error
}

// An Asker passes requests on to the holder.
type Asker interface {
	// Ask leaves a text, valid UTF-8 of at most MaxRecord bytes, for the holder with the
	// given token. The backend may keep only the last such text. The caller need not hold
	// the lock. If that holder no longer holds the lock, the text may never be delivered.
	// Ask does not wait for an answer, and there is none.
	Ask(ctx context.Context, token uint64, text []byte) error
	// Asked returns a channel that delivers the requests to us while we hold the lock: at
	// once if the backend can watch, otherwise with one of the next renewals. Texts for
	// another token are not delivered. Asked may return nil until Acquire has returned.
	// From then on it returns the same channel, which is not closed. A request that is
	// not received before the next one arrives may be dropped. Do not trust the sender.
	Asked() <-chan []byte
}

// A Lister lists all locks of a store: those under the prefix of the handle's URL,
// whatever the name of the handle's own lock.
type Lister interface {
	// List returns one page, in no particular order, and the cursor of the next page, or
	// an empty cursor after the last page. The first page has the empty cursor; any other
	// cursor passes [CheckCursor]. A page may be short or even empty: only the cursor
	// says whether there are more. A lock that is held during the whole listing appears
	// exactly once. A lock that nobody holds appears if it has waiters or a record, and
	// may appear otherwise. Anything else under the prefix is left out.
	List(ctx context.Context, cursor string) (page []Listed, next string, err error)
}

// Pages calls list for each page, beginning with the first, and passes each page to each.
// If the cursor does not change, Pages returns an error, because the list would never
// end.
func Pages(list func(cursor string) (page []Listed, next string, err error), each func([]Listed)) error {
	for cursor := ""; ; {
		page, next, err := list(cursor)
		if err != nil {
			return err
		}
		each(page)
		if next == "" {
			return nil
		}
		if next == cursor {
			return fmt.Errorf("%w: the backend's list does not end", ErrUnavailable)
		}
		cursor = next
	}
}

// A Listed is one lock of a list.
type Listed struct {
	Name   string // passes [CheckSlotName]: each slot is a lock
	Status Status
	Record []byte // as from Recorder.Record
}

// MaxList is the largest number of locks on a page, and MaxCursor the largest length of a
// cursor, in bytes.
const (
	MaxList   = 64
	MaxCursor = 1024
)

// CheckCursor returns an ErrUsage unless cursor is one that a Lister may return: valid
// UTF-8 of at most MaxCursor bytes.
func CheckCursor(cursor string) error {
	if len(cursor) > MaxCursor || !utf8.ValidString(cursor) {
		return &UsageError{What: "a cursor that no list returned"}
	}
	return nil
}

// A Watcher reports when to inspect again.
type Watcher interface {
	// Watch returns once it is watching. The channel receives a value after each change
	// of what Inspect returns: the lock has a new holder, or lost its holder, or a waiter
	// came or left. With all, it is about what List returns: all locks of the store.
	// Changes that have not been received yet are merged into one value. A change while
	// the server is unreachable is reported once it is reachable again. There may be
	// values without a change. A renewal is not a change.
	//
	// Watching ends with ctx, or earlier if it cannot continue; then the channel is
	// closed. Only one Watch may run at a time. The caller need not hold the lock. A
	// backend that can watch one lock but not all returns ErrUsage for all. If the server
	// is too old to report changes, Watch returns ErrUsage for both.
	Watch(ctx context.Context, all bool) (<-chan struct{}, error)
}

// A Breaker takes a lock away from its holder.
type Breaker interface {
	// Break ends the term with the given token. The server checks in the same step that
	// this is still the current term. If it is not, nothing changes, and the error is
	// ErrLost; this may also happen after an attempt of ours that succeeded without an
	// answer. The next grant is not Clean and has a greater token. The holder learns of
	// it as of any loss: through Lost at once if the backend can, otherwise at its next
	// renewal.
	Break(ctx context.Context, token uint64) error
}

// A Prober reports the state of the servers behind a lock, to help an operator find
// problems. The caller need not hold the lock, and nothing is changed.
type Prober interface {
	// Probe asks each server that the URL or the settings name. A server's answer, or the
	// lack of one, is part of the result. An error means that no server could be asked at
	// all.
	Probe(ctx context.Context) (Servers, error)
}

// Servers is the result of a Probe. All of it may be text that others wrote.
type Servers struct {
	Product string   `json:"product"`        // "etcd"
	User    string   `json:"user,omitempty"` // who the server takes us for; "" if nobody, or unknown
	Servers []Server `json:"servers,omitempty"`
	// Findings are what only this backend knows to check, such as known bad versions, an
	// alarm of the cluster, or the type of a file system.
	Findings []Finding `json:"findings,omitempty"`
}

// A Server is one of them.
type Server struct {
	Address string        `json:"address"`
	Error   string        `json:"error,omitempty"`   // why it could not be asked; the fields below are then empty
	Class   string        `json:"class,omitempty"`   // of that error: "denied", "unavailable" or ""
	Version string        `json:"version,omitempty"` // of its software
	Role    string        `json:"role,omitempty"`    // "leader", "follower" …
	RTT     time.Duration `json:"rtt_ns,omitempty"`  // of one request on an open connection
	Time    time.Time     `json:"time,omitzero"`     // its clock, halfway between request and answer on ours
	Ours    time.Time     `json:"ours,omitzero"`     // our clock at that moment
	TLS     string        `json:"tls,omitempty"`     // "1.3"; "": not encrypted
	Expires time.Time     `json:"expires,omitzero"`  // earliest expiry of the certificates that the connection uses, ours included
}

// A Finding is the result of one check.
type Finding struct {
	Check string `json:"check"`          // what was checked: "alarms"
	Level string `json:"level"`          // one of those below
	Text  string `json:"text,omitempty"` // what was found
	Fix   string `json:"fix,omitempty"`  // what to do about it
}

// The levels of a Finding.
const (
	LevelOK      = "ok"
	LevelWarning = "warning"
	LevelError   = "error"
)

// Find adds a Finding.
func (s *Servers) Find(check, level, text, fix string) {
	s.Findings = append(s.Findings, Finding{Check: check, Level: level, Text: text, Fix: fix})
}

// MaxServers and MaxFindings limit the two lists of Servers.
const (
	MaxServers  = 32
	MaxFindings = 32
)

// A Forgetter deletes everything that the backend keeps of a lock, including its token
// counter. It is for a lock whose name is never used again.
type Forgetter interface {
	// Forget deletes it all if nobody holds the lock or waits for it. Otherwise it
	// deletes nothing and returns a *HeldError. The name must not be in use any more.
	Forget(ctx context.Context) error
}

// A Located is a Lock that can say in which store it is.
type Located interface {
	// Location returns the address of the store with the prefix of its locks, for people and
	// without secrets: "etcd://h:2379/jobs". It contacts no server. It blocks until the address
	// is known or ctx ends, and is "" if it is not known.
	Location(ctx context.Context) string
}

// MaxLocation is the maximum length of a location, in bytes.
const MaxLocation = 1024

// Location returns that of l, or "" if it is not known.
func Location(ctx context.Context, l Lock) string {
	if at, ok := l.(Located); ok {
		return at.Location(ctx)
	}
	return ""
}

// A SecretReader is a Lock whose backend reads secrets from the environment.
type SecretReader interface {
	// SecretEnv returns the names of the environment variables that hold this backend's
	// credentials. It is complete once Acquire has returned.
	SecretEnv() []string
}

// A SecretSender is a Lock whose backend sends secrets that neither its URL nor a variable has,
// such as a password in a file of its own tools.
type SecretSender interface {
	// SentSecrets returns them as they are now. It is called to remove them from messages.
	SentSecrets() []string
}

// SecretEnv returns the variables that hold the credentials of l's backend.
func SecretEnv(l Lock) []string {
	if s, ok := l.(SecretReader); ok {
		return s.SecretEnv()
	}
	return nil
}

// A Permanent lock has grants that do not end while this process lives: their TTL is
// always 0.
type Permanent interface{ Permanent() bool }

// IsPermanent reports whether l's grants have no TTL. This is known as soon as l is open.
func IsPermanent(l Lock) bool {
	p, ok := l.(Permanent)
	return ok && p.Permanent()
}

// Carried is a Lock that is held as long as any process has a certain file open.
type Carried interface{ File() *os.File }

// Carrier returns that file of l, or nil if l is not Carried.
func Carrier(l Lock) *os.File {
	if c, ok := l.(Carried); ok {
		return c.File()
	}
	return nil
}

// Remote is a Lock that a helper process keeps for us. The helper continues after our
// death as long as any process has its input open.
type Remote interface {
	// ReleaseMessage returns the helper's input, and what to write there to have the lock
	// released after our death.
	ReleaseMessage() (input *os.File, words []byte)
	// Keeps reports whether pid is that of the helper. It may have been replaced by
	// another since Remote was opened.
	Keeps(pid int) bool
}

// ReleaseMessage returns how to tell l's helper to release the lock after our death, or
// zeros if l has no helper.
func ReleaseMessage(l Lock) (input *os.File, words []byte) {
	if r, ok := l.(Remote); ok {
		return r.ReleaseMessage()
	}
	return nil, nil
}

// Keeps reports whether pid is the helper process that keeps l for us.
func Keeps(l Lock, pid int) bool {
	r, ok := l.(Remote)
	return ok && r.Keeps(pid)
}

// An Adopter can continue the term of another handle whose process is gone.
type Adopter interface {
	// Term returns what another handle on the same lock, opened with the same options,
	// needs to continue our term: valid UTF-8 of at most MaxRecord bytes. It is called
	// once the lock is ours. Anyone who has the text can renew and release the lock.
	Term() string
	// Adopt makes a term this handle's; it is called instead of Acquire. It contacts no
	// server and extends nothing: the next Renew reports whether the lock is still ours.
	// Adopt returns an error if the text is invalid.
	Adopt(term string) error
}

// A Placer is a Lock whose place in the queue another handle can continue to wait in, if the
// process of the first is gone.
type Placer interface {
	// Place returns what another handle on the same lock, opened with the same options,
	// needs to continue in our place: valid UTF-8 of at most MaxRecord bytes, or "" if we
	// have no place that would outlive us. Only [Options].Waiting calls it. Anyone who has
	// the text can renew the place and give it up.
	Place() string
	// Resume makes a place this handle's. It contacts no server and extends nothing.
	// Acquire, without try, follows: instead of entering the queue it waits there, and
	// fails with ErrLost if the place is gone. Resume returns an error if the text is
	// invalid.
	Resume(place string) error
}

// Slotted is a Lock that several contenders hold at once, each in its own slot.
type Slotted interface {
	// Slot returns the number of our slot, from 1 on, or 0 while we hold none.
	Slot() int
}

// SlotOf returns the number of the slot that l holds, or 0 if it has none.
func SlotOf(l Lock) int {
	if s, ok := l.(Slotted); ok {
		return s.Slot()
	}
	return 0
}
