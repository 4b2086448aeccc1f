package caslease

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Store keeps small values, and changes a value only if it is still as it was read. Each
// method makes one request, or one transaction, and retries nothing: a retry could make a
// write succeed twice, or hide that the outcome of the first attempt is unknown. Each
// method returns promptly when ctx ends. Methods may be called concurrently.
//
// A write that was abandoned may still take effect later. That does no harm, because its
// condition is checked when it takes effect.
type Store interface {
	// Read returns the current cell: it includes every change that was acknowledged to
	// anybody before Read sent its request. So Read uses no cache, and no replica that
	// may lag. A missing cell is not an error: its Version is "".
	Read(ctx context.Context, key Key) (Cell, error)

	// Swap changes a cell and returns the result, in one step and on the condition that
	// the cell's Version is still at.Version. If at.Version is "", Swap creates the cell,
	// on the condition that there is none. If the condition fails, nothing is written, and
	// the kind of the error is Changed.
	//
	// Each change gives the cell a Version that no cell of this name has ever had, also
	// if the cell was deleted and created again. (So a hash of State and Record cannot
	// be the Version. A store whose only version is an ETag that may be such a hash adds
	// something to each write that never repeats.)
	Swap(ctx context.Context, key Key, at Cell, to Value) (Cell, error)

	// Delete deletes a cell on the condition that its Version is still at.Version.
	// Otherwise the kind of the error is Changed.
	Delete(ctx context.Context, key Key, at Cell) error

	// Fault classifies an error that a method of the store returned. All classification
	// of the store's errors is here.
	Fault(err error) causes.Fault

	// Close frees what the store uses in this process. It does not wait for a server.
	Close() error
}

// A Key names a cell.
type Key struct {
	Name string // of the lock, or of one of its slots: see [locks.CheckSlotName]
	Part Part
}

// A Part is one of the cells of a lock. They are separate so that a request does not
// interfere with the holder's renewals.
type Part int

const (
	Lease   Part = iota // the lock itself, with its record
	Request             // what somebody asks the holder
)

// A Value is what a Swap writes to a cell. The store does not look into State and Record.
type Value struct {
	// State is JSON in valid UTF-8, of at most MaxState bytes, or MaxRequest in the cell
	// of a Request. If it is "", the cell keeps its State.
	State string
	// Record is the lock's record, a text that [locks.CheckText] accepts. It changes in
	// one step with State, under the same condition. If it is nil, the cell keeps its
	// Record. Only the cell of a Lease has a Record.
	Record []byte

	// Silent marks a mere renewal, or another change that concerns nobody else. A Watcher
	// need not report it.
	Silent bool
	// MinAge is how long ago the cell's last change must have been: the lease of the
	// holder that is being replaced, and the margin. It is 0 unless the lock is being
	// taken over by the store's clock. A store that can compare its own clock with Updated
	// in the step that writes does so. If less time has passed, nothing is written, and the
	// kind of the error is Changed. Other stores may ignore MinAge: the Version alone makes
	// the takeover safe.
	MinAge time.Duration
}

// MaxState and MaxRequest bound a State that leaderrun wrote, in bytes. If anybody else
// wrote it, a store need not return more than MaxRead: see Cell.Foreign.
const (
	MaxState   = 2400
	MaxRequest = 6 << 10
	MaxRead    = 64 << 10
)

// A Cell is the content of a cell according to one answer.
type Cell struct {
	Version   string // compared for equality only; "": there is no such cell
	State     string // "": it has none, so leaderrun did not create the cell
	Record    []byte // nil: none was ever written
	BadRecord bool   // there is a record that the store cannot read, so leaderrun did not write it
	Foreign   string // why the whole cell cannot be read: "has a description of …"; "": it can

	// First and Floor make fencing tokens rise forever. First is fixed when the cell is
	// created, and is greater than every token of a deleted cell of the same name. It is
	// the token of the term that creates the cell. Floor is at least First, and never
	// falls. The token of each later term is one more than the previous term's token or
	// than Floor, whichever is greater, whatever State says. Both stay below 1<<62.
	//
	// If the store numbers all the changes that it makes to anything, First can be the
	// number of the change that created the cell, and Floor that of its last change.
	// Otherwise First can be the store's clock in microseconds when the cell was created,
	// because no lock is written that often, and Floor that plus the number of the cell's
	// changes.
	First, Floor uint64

	// Next is what First is at least if the cell is deleted and created again. It is 0 if the
	// store promises that this is greater than every token of the deleted cell, as a counter does.
	// If First is from a clock that an operator may set back, Next is the time of the answer.
	Next uint64

	// Updated is when the cell was created or last changed, and Date when the answer was
	// written, both by the store's clock. Zero means that the store does not say. See
	// Expiry.
	Updated, Date time.Time

	// Leased reports whether a lease of the store's own is on the cell, and Lessee describes
	// who has that lease, if it is certainly not the holder that State names. See ByLease.
	Leased bool
	Lessee string
}

// An Expiry is how the engine decides that a holder's lease has ended. With any store it is
// proof enough if we have watched the cell for a whole lease, by our boot clock, and it has
// not changed.
type Expiry int

const (
	// ByWatching: there is no other proof.
	ByWatching Expiry = iota
	// ByStamps: the lease has probably ended if Date is later than Updated by the lease
	// and the margin. Something between us and the store may have written Date. So after
	// the takeover, the Updated before and after it must confirm that the lease had ended.
	// Until then the takeover is in doubt: see early_takeover.go.
	ByStamps
	// ByClock: such a Date is proof. Date and Updated are both read from the store's own
	// clock, and nothing on the way changes them. (The takeover swaps the very Version that
	// the answer showed, so no renewal came in between.) It is believed only together with a
	// time in which the cell has not changed, unless the store is Disciplined: see observer.
	ByClock
	// ByLease: the store has leases, and judges itself whether one has ended: Leased. A Swap
	// to a state that says "held" takes such a lease, in which nobody else can change the
	// cell, or renews it if it is Silent; a Silent Swap need not move the Version. A Swap to
	// a state that says "free" ends the lease. The id of a lease follows from the state's nonce: see
	// [LeaseOf].
	ByLease
)

// A Leased is what a store with leases of its own reads in a State.
type Leased struct {
	Nonce  string
	TTL    time.Duration
	Held   bool // false: the lock is free
	Broken bool // because an operator has broken the term
}

// LeaseOf returns what a State says, or zeros if leaderrun did not write it.
func LeaseOf(text string) Leased {
	s, _ := parseState(text) // zero if it cannot be read
	return Leased{s.Nonce, s.ttl(), s.Is == held, s.Broken != ""}
}

// Traits describe a store. The zero Traits describe a store that has no clock and accepts
// writes at any rate.
type Traits struct {
	Expiry Expiry
	Margin time.Duration // for ByStamps and ByClock: the least; an eighth of a long lease is more
	// Disciplined, for ByClock, means that only its provider can set the store's clock, as with
	// a service. Then one look is proof.
	Disciplined bool
	// Pace is the time after which the store promises to accept another write to the same
	// cell; 0: any time.
	Pace time.Duration
	// Poll is the mean pause between two reads of a waiter; towards the end of a lease it
	// is halved. With a Watcher, a waiter reads when the lease may have ended, and
	// otherwise only now and then. 0 means 2 s.
	Poll time.Duration
	// LongestPoll bounds the pauses of a waiter without a Watcher, which grow with each read,
	// by a fifth, and after ten minutes to six times as much. They grow only so far that a
	// takeover does not come later. 0: they do not grow. At this length a Rester rests.
	LongestPoll time.Duration
	// Follows reports whether one Version can come after another; before is "" if there
	// was no cell. nil means that any Version can come after any other.
	Follows func(before, after string) bool
	// ReadsEarly means that Read may return a write that the standby, which would take
	// over, does not have yet. Then what Read returns is certain to stay only after a Swap
	// of it was acknowledged.
	ReadsEarly bool
	// Secrets are the variables with credentials: see [locks.SecretReader].
	Secrets []string
	// Sent, if not nil, returns the secrets that are sent to the server and that are in no
	// variable of Secrets. They are removed from messages, because a server may repeat them.
	Sent func() []string
	// Clock is this machine's clock; nil means its boot clock. Only a simulated store has
	// another one: [clock.Bubble].
	Clock clock.Clock

	// The rest is for messages. Some fields have a default, shown in parentheses.

	Product string           // what people call the store: "Cloud Storage" ("store")
	Backend string           // the scheme and the address, with the prefix: "gcs://bucket/prefix"
	Cell    string           // what a cell is called: "object", "row" ("cell")
	Where   func(Key) string // the cell's place, after that word: "gs://bucket/leaderrun/NAME" (the lock's name)
	Record  string           // what the record is called: "a leaderrun-record in its metadata" ("a record")
	Version string           // what Version is called: "metageneration" ("version")
	Updated string           // what Updated is called: `"updated"` ("time")
	Probed  string           // what a Prober probes: "the bucket of" ("the store of"); the lock's name follows

	// Place is what the user can choose to get other cells: "table" ("prefix").
	Place string
	// Hints say what to do about a record that somebody else wrote; about a store that
	// accepts a change but does not show it, or refuses it without a reason; and about one
	// that does not answer (this one has a default).
	HintRecord, HintUnmoved, HintSilent string
}

// filled returns t with the defaults filled in.
func (t Traits) filled() *Traits {
	t.Poll = cmp.Or(t.Poll, 2*time.Second)
	if t.Clock == nil {
		t.Clock = clock.Boot{}
	}
	if t.Where == nil {
		t.Where = func(k Key) string { return strconv.Quote(k.Name) }
	}
	t.Product, t.Cell, t.Record = cmp.Or(t.Product, "store"), cmp.Or(t.Cell, "cell"), cmp.Or(t.Record, "a record")
	t.Place = cmp.Or(t.Place, "prefix")
	t.Version, t.Updated, t.Probed = cmp.Or(t.Version, "version"), cmp.Or(t.Updated, "time"), cmp.Or(t.Probed, "the store of")
	t.HintSilent = cmp.Or(t.HintSilent, "the address accepts connections but does not answer, or a firewall drops them")
	return &t
}

// A Lister is a Store that can list the cells of leases.
type Lister interface {
	Store
	// List returns a page of at most [locks.MaxList] cells, in one request, and the cursor
	// of the next page, as [locks.Lister] says. It omits cells whose name no lock can have.
	List(ctx context.Context, cursor string) (page []ListedCell, next string, err error)
}

// A ListedCell is a cell in a list.
type ListedCell struct {
	Name string
	Cell Cell
}

// A Watcher is a Store that reports changes.
type Watcher interface {
	Store
	// Watch returns a channel as soon as it watches. The channel receives a value after
	// each change to either cell of the named lock, whoever made it, or if the name is "",
	// of any lock. Silent changes may be omitted. There may be values without a change:
	// Watch must send one when it may have missed changes, as after a new connection.
	// Values that nobody has received yet are merged into one.
	//
	// The channel is closed when ctx ends, or when the store can no longer watch; then the
	// engine polls, and later calls Watch again. An error of the kind Refused or Denied, or
	// that wraps [locks.ErrUsage], means that this store will never report changes (for
	// example because a pooler is in the way).
	Watch(ctx context.Context, name string) (<-chan struct{}, error)
}

// A Rester is a Store that keeps a connection open between requests.
type Rester interface {
	Store
	// Rest closes the connections that are not in use, because a waiter will pause for long.
	Rest()
}

// A Prober is a Store that can probe its servers.
type Prober interface {
	Store
	// Probe does what [locks.Prober] says. It makes each request through the given
	// function, which retries it within the connect timeout, as often as that may help,
	// and returns an explained error, or nil.
	Probe(ctx context.Context, try func(ctx context.Context, request func(context.Context) error) *locks.Error) (locks.Servers, error)
}
