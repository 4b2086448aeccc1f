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

// The abilities, and what has them.
const (
	CanInspect Ability = "inspect" // an Inspector
	CanQueue   Ability = "queue"   // an Inspector whose State.Queue is who waits, in order and with priorities
	CanRecord  Ability = "record"  // a Recorder
	CanAsk     Ability = "ask"     // an Asker
	CanList    Ability = "list"    // a Lister
	CanWatch   Ability = "watch"   // a Watcher
	CanBreak   Ability = "break"   // a Breaker
	CanProbe   Ability = "probe"   // a Prober
	CanForget  Ability = "forget"  // a Forgetter
)

// Able is a Lock with abilities.
type Able interface {
	// Abilities returns them. It blocks until they are known, or ctx ends: a
	// helper program says so when it has opened the lock, which contacts no server.
	Abilities(ctx context.Context) ([]Ability, error)
}

// Require returns an ErrUsage if l lacks one of the abilities that the named
// thing needs (an option, a subcommand), and otherwise whatever kept it from
// finding out.
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
	CanInspect: "tell who holds a lock",
	CanQueue:   "tell who waits for a lock",
	CanRecord:  "keep a record beside a lock",
	CanAsk:     "pass a request on to the holder",
	CanList:    "list its locks",
	CanWatch:   "tell when a lock changes",
	CanBreak:   "take a lock away from its holder",
	CanProbe:   "tell how its servers are",
	CanForget:  "delete what it keeps of a lock",
}

// An Inspector can tell about a lock without contending for it. Inspect may be
// called on a handle that has never acquired, at any time until Close, also
// beside Acquire and Renew. It tells the present state as the server has it,
// not that of a replica that lags.
type Inspector interface {
	Inspect(ctx context.Context) (State, error)
}

// A State is all that a backend can tell about a lock.
type State struct {
	Status
	// Queue is who waits, the next in line first; at most MaxQueue of them, and
	// nobody without CanQueue.
	Queue []Place `json:"queue,omitempty"`
}

// MaxQueue is the most places that a State shows.
const MaxQueue = 64

// A Place is one contender in a queue.
type Place struct {
	Holder   string    `json:"holder,omitempty"`
	RunID    string    `json:"run_id,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	Priority int       `json:"priority,omitempty"`
}

// MaxRecord is the most that a Recorder takes, in bytes. Google Cloud Storage
// has 8 KiB for all that is beside a lock.
const MaxRecord = 4096

// CheckText returns an ErrUsage if text is not one that a Recorder or an Asker
// takes.
func CheckText(text []byte) error {
	switch {
	case len(text) > MaxRecord:
		return &UsageError{What: fmt.Sprintf("a text of %d bytes; at most %d are allowed", len(text), MaxRecord)}
	case !utf8.Valid(text):
		return &UsageError{What: "a text that is not valid UTF-8"}
	}
	return nil
}

// A Recorder keeps one small text beside the lock, for ever: across releases,
// losses, takeovers and restarts of the server.
type Recorder interface {
	// Record returns the text, or nil if none was ever set. It needs no lock.
	// What it returns is no older than the last SetRecord that had returned, by
	// whomever, when it was called. Whoever can lead can write it: it is not
	// trusted.
	Record(ctx context.Context) ([]byte, error)
	// SetRecord replaces the text, valid UTF-8 of at most MaxRecord bytes, if
	// the lock is still ours. The server checks that in the step that writes:
	// after a takeover nothing is written, and the error is ErrLost. Any other
	// error leaves open whether it was; to repeat it does no harm. It extends no
	// lease, and may run beside Renew.
	SetRecord(ctx context.Context, text []byte) error
}

// An Asker passes requests on to the holder.
type Asker interface {
	// Ask leaves a text, valid UTF-8 of at most MaxRecord bytes, for the holder
	// of the given token. Only the last one may be kept. It needs no lock of our
	// own. If that holder does not hold the lock any more, nobody may ever hear
	// of it. It does not wait for an answer: there is none.
	Ask(ctx context.Context, token uint64, text []byte) error
	// Asked delivers what we are asked while we hold the lock: at once where the
	// backend can watch, and otherwise with one of the next renewals. What was
	// left for a token other than ours is not delivered. It may be nil until Acquire has
	// returned and is the same from then on; it is not closed. What is not
	// received before the next may be forgotten. Its sender is not trusted.
	Asked() <-chan []byte
}

// A Lister tells of all locks of a store: those under the prefix of the handle's
// URL, whatever the name of the handle's own lock.
type Lister interface {
	// List returns a page of them, in no particular order, and the cursor of the
	// next page, which is empty if this was the last. The first page's cursor is
	// empty; any other is as [CheckCursor] allows it. Any page may be short, and even
	// empty: only the cursor says that there are more. A lock that is held during the
	// whole listing is in it, once. One that nobody holds is in it if somebody waits
	// for it or it has a record, and may be in it otherwise. What is under the prefix
	// and no lock is left out.
	List(ctx context.Context, cursor string) (page []Listed, next string, err error)
}

// Pages has every page of a list, from the first on, got by list and handed to each. A
// list whose cursor stands still is an error: it would not end.
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
	Name   string // as [CheckSlotName] allows it: slots are locks of their own
	Status Status
	Record []byte // as Recorder.Record tells it
}

// MaxList is the most locks that a page has, and MaxCursor the greatest length of
// a cursor, in bytes.
const (
	MaxList   = 64
	MaxCursor = 1024
)

// CheckCursor returns an ErrUsage if cursor is none that a Lister returns: valid
// UTF-8 of at most MaxCursor bytes.
func CheckCursor(cursor string) error {
	if len(cursor) > MaxCursor || !utf8.ValidString(cursor) {
		return &UsageError{What: "a cursor that no list returned"}
	}
	return nil
}

// A Watcher tells when to inspect again.
type Watcher interface {
	// Watch returns, as soon as it looks, a channel that gets a value after each
	// change of what Inspect tells about the lock: a new holder, the end of one, a
	// waiter that came or left. With all, it is about what List tells: any lock of
	// the store. Changes that nobody has received yet are one value. What changes
	// while the server cannot be reached is told when it can be again. There may be
	// values without a change. Renewals are none.
	//
	// Watching ends with ctx, or by itself, where it cannot go on; then the channel
	// is closed. One Watch at a time; it needs no lock of our own. A backend that
	// can watch one lock, but not all, returns ErrUsage for all, and one whose server
	// is too old to tell of changes returns it for both.
	Watch(ctx context.Context, all bool) (<-chan struct{}, error)
}

// A Breaker takes a lock away from its holder.
type Breaker interface {
	// Break ends the term with the given token. The server checks in the step that
	// ends it that this is still the term. If not, nothing is changed, and the error
	// is ErrLost; so it is after an attempt of ours that succeeded unheard. The next
	// grant is not Clean, and its token is greater. The holder hears of it as of any
	// loss: by Lost at once, where the backend can, or else by its next renewal.
	Break(ctx context.Context, token uint64) error
}

// A Prober tells about the servers behind a lock, for an operator who looks for
// what is wrong. It needs no lock and changes nothing.
type Prober interface {
	// Probe asks each server that the URL or the settings name. What one of them
	// answers, or that it does not, is part of the result; an error means that
	// none could even be asked.
	Probe(ctx context.Context) (Servers, error)
}

// Servers is what Prober tells. All of it may be somebody else's text.
type Servers struct {
	Product string   `json:"product"`        // "etcd"
	User    string   `json:"user,omitempty"` // as whom we are known; "": as nobody, or it cannot be told
	Servers []Server `json:"servers,omitempty"`
	// Findings are what only this backend knows to look at, such as known bad
	// versions, an alarm of the cluster, or the type of a file system.
	Findings []Finding `json:"findings,omitempty"`
}

// A Server is one of them.
type Server struct {
	Address string        `json:"address"`
	Error   string        `json:"error,omitempty"`   // why it could not be asked; what follows is empty then
	Class   string        `json:"class,omitempty"`   // of that error: "denied", "unavailable" or ""
	Version string        `json:"version,omitempty"` // of its software
	Role    string        `json:"role,omitempty"`    // "leader", "follower" …
	RTT     time.Duration `json:"rtt_ns,omitempty"`  // of one request on an open connection
	Time    time.Time     `json:"time,omitzero"`     // its clock, halfway between request and answer on ours
	Ours    time.Time     `json:"ours,omitzero"`     // our clock at that moment
	TLS     string        `json:"tls,omitempty"`     // "1.3"; "": not encrypted
	Expires time.Time     `json:"expires,omitzero"`  // when the first of the certificates ends on which the connection depends, ours included
}

// A Finding is one fact that is well, or not.
type Finding struct {
	Check string `json:"check"`          // what was looked at: "alarms"
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

// MaxServers and MaxFindings are the most that Servers has of each.
const (
	MaxServers  = 32
	MaxFindings = 32
)

// A Forgetter deletes all that the backend keeps of a lock, its token counter
// included, so that nothing is left behind of a lock whose name is never used
// again. It is for such names only.
type Forgetter interface {
	// Forget deletes it if nobody holds the lock or waits for it; otherwise nothing,
	// and the error is a *HeldError. Its name must not be in use any more.
	Forget(ctx context.Context) error
}

// A SecretReader is a Lock whose backend reads secrets from the environment.
type SecretReader interface {
	// SecretEnv returns the names of the environment variables that hold
	// credentials of this backend. It is complete once Acquire has returned.
	SecretEnv() []string
}

// SecretEnv returns the variables that hold the credentials of l's backend.
func SecretEnv(l Lock) []string {
	if s, ok := l.(SecretReader); ok {
		return s.SecretEnv()
	}
	return nil
}

// A Permanent lock is one whose grants never end while this process lives:
// their TTL is always 0.
type Permanent interface{ Permanent() bool }

// IsPermanent reports whether l's grants have no TTL. It is known as soon as l
// is open.
func IsPermanent(l Lock) bool {
	p, ok := l.(Permanent)
	return ok && p.Permanent()
}

// Carried is a Lock that an open file carries: it is held as long as any process
// has that open. On Windows, those who are given the file must call Carry.
type Carried interface{ File() *os.File }

// Carrier returns the file that carries l, or nil if none does.
func Carrier(l Lock) *os.File {
	if c, ok := l.(Carried); ok {
		return c.File()
	}
	return nil
}

// Remote is a Lock that another process keeps for us. It goes on after our
// death as long as anybody has its input open.
type Remote interface {
	// ReleaseMessage returns the process's input, and what is to be written there to have
	// the lock released after our death.
	ReleaseMessage() (input *os.File, words []byte)
	// Keeps reports whether a process id is that of the process, which may be another
	// one than before.
	Keeps(pid int) bool
}

// ReleaseMessage returns what l's process can be told after our death, or zeros if
// there is no such process.
func ReleaseMessage(l Lock) (input *os.File, words []byte) {
	if r, ok := l.(Remote); ok {
		return r.ReleaseMessage()
	}
	return nil, nil
}

// Keeps reports whether a process id is that of the process that keeps l for us.
func Keeps(l Lock, pid int) bool {
	r, ok := l.(Remote)
	return ok && r.Keeps(pid)
}

// An Adopter can go on with the term of another handle, whose process is gone.
type Adopter interface {
	// Term returns what another handle on the same lock, opened with the same options,
	// needs for that: valid UTF-8 of at most MaxRecord bytes. It is called once the lock
	// is ours. Whoever has the text can renew and release the lock.
	Term() string
	// Adopt makes a term this handle's, in place of Acquire. It contacts no server and
	// extends nothing: the next Renew says whether the lock is still ours. It is an
	// error if the text makes no sense.
	Adopt(term string) error
}

// Slotted is a Lock that several hold at once, each with a slot of its own.
type Slotted interface {
	// Slot returns the number of ours, from 1 on, or 0 while we hold none.
	Slot() int
}

// SlotOf returns the number of the slot that l holds, or 0 if it has none.
func SlotOf(l Lock) int {
	if s, ok := l.(Slotted); ok {
		return s.Slot()
	}
	return 0
}
