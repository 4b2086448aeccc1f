package caslease

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A Store keeps small values, and changes one only if it is as it was read. Each
// method makes one request, or one transaction, and retries nothing: a retry of its
// own could make a write succeed twice, or hide that the fate of the first attempt is
// not known. It returns promptly when ctx ends. Methods may run beside each other.
//
// An abandoned write may still take effect later. That does no harm, as it has its
// condition with it.
type Store interface {
	// Read returns a cell as it is: a change that was acknowledged to anybody before
	// the request was sent is in it. So it asks no replica that lags, and no cache.
	// That there is no cell is no error: its Version is "".
	Read(ctx context.Context, key Key) (Cell, error)

	// Swap changes a cell, if its Version is still at.Version, in one step, and returns
	// it as that step has left it. If at.Version is "", it makes the cell, if there is
	// none. Otherwise nothing is written, and the error is of the kind Changed.
	//
	// The Version is another after each change, the one that cells have had before and
	// since included: a cell that was deleted and made anew has none of the old ones.
	// (So a hash of State and Text is none. A store that has only an ETag which may be one
	// writes something along that never comes again.)
	Swap(ctx context.Context, key Key, at Cell, to Value) (Cell, error)

	// Delete deletes a cell, if its Version is still at.Version. Otherwise the error
	// is of the kind Changed.
	Delete(ctx context.Context, key Key, at Cell) error

	// Fault judges an error that a method of the store has returned. Nothing else does.
	Fault(err error) Fault

	// Close frees what the store uses in this process. It waits for no server.
	Close() error
}

// A Key names a cell.
type Key struct {
	Name string // of the lock, or of one of its slots: see [locks.CheckSlotName]
	Part Part
}

// A Part says which cell of a lock is meant. They are apart so that a request comes
// between no holder and its renewals.
type Part int

const (
	Lease   Part = iota // the lock itself, and the text beside it
	Request             // what its holder is asked
)

// A Value is what is to be written to a cell. The store looks into none of it.
type Value struct {
	// State is JSON in valid UTF-8, of at most MaxState bytes (with a Request,
	// MaxRequest). "": what is there stays.
	State string
	// Text is what is kept beside the lock: [locks.CheckText] accepts it. nil: what is
	// there stays. It changes in one step with State, under the same condition. Only
	// the cell of a Lease has one.
	Text []byte

	// Silent: it is a mere renewal, or a change that concerns nobody. A Watcher tells
	// nobody of it.
	Silent bool
	// Over is how long ago the cell's last change must have been: the lease of a
	// holder that is to have gone, and the margin. 0: nothing is taken over by the
	// store's clock. A store that can compare its own clock with Updated in the step
	// that writes does so, and if less time has gone by, nothing is written, and the
	// error is of the kind Changed. Others need not look at it: Version is condition
	// enough.
	Over time.Duration
}

// MaxState and MaxRequest are the most that a State has, in bytes, if leaderrun wrote it.
// A store need not return more than MaxRead of what somebody else wrote: see
// Cell.Foreign.
const (
	MaxState   = 2400
	MaxRequest = 6 << 10
	MaxRead    = 64 << 10
)

// A Cell is one as an answer showed it.
type Cell struct {
	Version string // only ever compared for being the same; "": there is no such cell
	State   string // "": it has none, and so was not made by leaderrun
	Text    []byte // nil: none was ever written
	BadText bool   // there is a text that the store cannot read: it is none of ours
	Foreign string // why the cell as a whole cannot be read: "has a description of …"; "": it can

	// First and Floor make fencing tokens rise for ever. First is fixed when the cell is
	// made, and greater than all tokens of a cell of that name that was deleted before. It
	// is the token of the term that makes the cell. Floor is First or more, and never
	// falls. The token of each later term is one more than that of the term before, or
	// than Floor, if that is greater, whatever State says. Both stay below 1<<62.
	//
	// What will do, if the store has it: the number of the change that made the cell, and
	// that of its last one, where the store counts the changes of all that it keeps. Or its
	// clock in microseconds when the cell was made, as no lock is written so often; and
	// that plus the number of the cell's changes.
	First, Floor uint64

	// Updated is when the cell was last changed (or made), and Date when the answer
	// was written, by the store's clock. Zero: it does not tell. See Expiry.
	Updated, Date time.Time
}

// A Fault is what an error means.
type Fault struct {
	Kind Kind
	// Text is the error in words that fit one line and have no secret. "": what err
	// itself says, and of an error of a context, that there was no answer in time.
	Text string
	// Hint is what the user might do about it, a sentence without a full stop.
	Hint string
}

// A Kind is what the engine needs to know of an error. If in doubt, it is Unknown.
type Kind int

const (
	// Unknown: whether it had an effect is not known. Another attempt may succeed.
	Unknown Kind = iota
	// Changed: the cell is not as it was, or not there. The request had no effect, as
	// with all that follow.
	Changed
	// Throttled: it came too soon, or there are too many. Later it may succeed.
	Throttled
	// Unsent: it surely had no effect. Another attempt may succeed.
	Unsent
	// Unreachable: there is nobody at the address. At first that is reported at once,
	// as the address may be wrong; while somebody waits, or has the lock, it passes.
	Unreachable
	// Refused: another attempt would meet the same answer.
	Refused
	// Denied: the same, for lack of permission or credentials.
	Denied
)

// An Expiry is how it is judged that a holder has gone. In any case it is enough that
// we have watched the cell for a whole lease, by our boot clock, without a change.
type Expiry int

const (
	// ByWatching: nothing else proves it.
	ByWatching Expiry = iota
	// ByStamps: it seems so if Date is later than Updated by the lease and the
	// margin. Something on the way may have written Date: so once the cell has been
	// taken over, the Updated of before and after must show it, too. Until then the
	// takeover is in doubt: see doubt.go.
	ByStamps
	// ByClock: the same Date proves it. Both are readings of one clock, the store's
	// own, and nothing on the way changes them. (The takeover is a Swap of the very
	// Version that the answer showed: no renewal came in between.) The margin is for
	// what that clock may jump by, if another server can take over.
	ByClock
)

// Traits are what the engine must know of a store, and say of it. The zero Traits are
// those of a store that tells no time and takes writes at any distance.
type Traits struct {
	Expiry Expiry
	Margin time.Duration // for ByStamps and ByClock
	// Pace is the least time between two writes to a cell that the store promises to
	// take. 0: any.
	Pace time.Duration
	// Poll is the mean pause between two looks of those who wait; towards the end of a
	// lease it is half of it. With a Watcher they look when the lease may be over, and
	// otherwise now and then. 0: 2 s.
	Poll time.Duration
	// Rose reports whether a Version can follow on another; since is "" if there was no
	// cell. nil: any other can.
	Rose func(since, version string) bool
	// ReadsEarly: a Read may show a write before the standby has it that will take over.
	// Then only a Swap that is acknowledged proves that what it finds stays.
	ReadsEarly bool
	// Secrets are the variables with credentials, as [locks.SecretReader] has them.
	Secrets []string
	// Clock tells the time on this machine. nil: its boot clock. Only a store that is
	// simulated has another: [clock.Bubble].
	Clock clock.Clock

	// What follows is for messages. Those with a word in parentheses have it if they are
	// empty.

	Product string           // what people call the store: "Cloud Storage" ("store")
	Backend string           // the scheme and the address: "gcs://bucket"
	Cell    string           // what a cell is called: "object", "row" ("cell")
	Where   func(Key) string // the cell's place, after that word: "gs://bucket/leaderrun/NAME" (the lock's name)
	Text    string           // what the text is called: "a leaderrun-record in its metadata" ("a text")
	Version string           // what Version is called: "metageneration" ("version")
	Updated string           // what Updated is called: `"updated"` ("time")
	Probed  string           // what a Prober looks at: "the bucket of" ("the store of"); the lock's name follows

	// Hints on what to do: about a cell, or its text, that somebody else wrote; about a
	// store that accepts a change and shows none; and about one that does not answer (the
	// usual one).
	HintForeign, HintText, HintUnmoved, HintSilent string
}

// filled are the same, with a value for each that has one if it is left out.
func (t Traits) filled() *Traits {
	t.Poll = cmp.Or(t.Poll, 2*time.Second)
	if t.Clock == nil {
		t.Clock = clock.Boot{}
	}
	if t.Where == nil {
		t.Where = func(k Key) string { return strconv.Quote(k.Name) }
	}
	t.Product, t.Cell, t.Text = cmp.Or(t.Product, "store"), cmp.Or(t.Cell, "cell"), cmp.Or(t.Text, "a text")
	t.Version, t.Updated, t.Probed = cmp.Or(t.Version, "version"), cmp.Or(t.Updated, "time"), cmp.Or(t.Probed, "the store of")
	t.HintSilent = cmp.Or(t.HintSilent, "something there accepts connections and does not answer, or a firewall drops them")
	return &t
}

// A Lister is a Store that can list the cells of leases.
type Lister interface {
	Store
	// List returns a page of at most [locks.MaxList], in one request, and the cursor of
	// the next page, as [locks.Lister] wants it. What does not have the name of a lock
	// is left out.
	List(ctx context.Context, cursor string) (page []Entry, next string, err error)
}

// An Entry is a cell of a list.
type Entry struct {
	Name string
	Cell Cell
}

// A Watcher is a Store that tells of changes.
type Watcher interface {
	Store
	// Watch returns, as soon as it listens, a channel that gets a value after each
	// change to a cell of the named lock, of either part, whoever made it; if the name
	// is "", of any lock. Silent changes may be left out. There may be values without
	// a change: one must be there when changes may have been missed, as after a new
	// connection. Values that nobody has received yet are one. The channel is closed
	// when ctx ends, or when the store cannot listen any more; then the engine polls,
	// and tries to watch again later. An error of the kind Refused or Denied, or that
	// wraps [locks.ErrUsage], says that this store will never tell of changes (a pooler
	// is in the way, say).
	Watch(ctx context.Context, name string) (<-chan struct{}, error)
}

// A Prober is a Store that can tell about its servers.
type Prober interface {
	Store
	// Probe does as [locks.Prober] says. To make a request through insist makes it as
	// often as may help within the connect timeout; its error is explained already, and
	// nil if the request succeeded.
	Probe(ctx context.Context, insist func(ctx context.Context, request func(context.Context) error) *locks.Error) (locks.Servers, error)
}
