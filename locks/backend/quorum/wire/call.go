package wire

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
)

// A Call is what is asked of a voter over TCP. It has one answer, and there is one in a
// connection.
type Call struct {
	Nonce string      `json:"nonce"` // random
	Group votes.Group `json:"group"`
	Space string      `json:"space,omitempty"`
	Lock  string      `json:"lock,omitempty"`

	// What is wanted besides what every answer has; one of these, or none.
	List    *Page    `json:"list,omitempty"`      // the locks of the space
	Read    bool     `json:"read,omitempty"`      // the record of the lock
	Write   *Record  `json:"write,omitempty"`     // keep this as the record
	End     uint64   `json:"end,omitempty"`       // the term with this token
	Request *Request `json:"requested,omitempty"` // keep this for the holder
	Fetch   string   `json:"fetch,omitempty"`     // the request of that id
	Watch   *Watch   `json:"watch,omitempty"`     // answer when votes have changed
	Forget  *Record  `json:"forget,omitempty"`    // delete the record if it is no newer, and nobody holds the lock
	Hello   *Hello   `json:"hello,omitempty"`     // from another voter
}

// A Page asks for names after a name, with records, of all spaces if All is set.
type Page struct {
	After string `json:"after,omitempty"`
	All   bool   `json:"all,omitempty"`
}

// A Request is what somebody asks of the holder of a lock.
type Request struct {
	ID    string `json:"id"`
	Token uint64 `json:"token"`
	Text  string `json:"text"`
}

// A Watch waits until the mark of the lock, or with All of the space, is another one.
type Watch struct {
	Mark uint64        `json:"mark"`
	All  bool          `json:"all,omitempty"`
	For  time.Duration `json:"for_ns"` // at most
}

// A Hello is what voters say to each other: which ids they see in which seat.
type Hello struct {
	Seat int        `json:"seat"`
	ID   string     `json:"id"`
	Seen [][]string `json:"seen,omitempty"` // by seat
}

// A Record is a text that a holder has written. It is written when a majority has it on its
// disks, so each read of a majority finds it.
type Record struct {
	Token uint64 `json:"token"`
	Seq   uint64 `json:"seq"` // of the holder's writes, from 1
	Text  string `json:"text"`
}

// Newer reports whether a record was written after another, which may be nil.
func (r *Record) Newer(than *Record) bool {
	return than == nil || cmp.Or(cmp.Compare(r.Token, than.Token), cmp.Compare(r.Seq, than.Seq)) > 0
}

// A Reply is the answer to a Call. Who belongs to another group gets what describes the voter, and
// nothing else.
type Reply struct {
	Nonce   string        `json:"nonce"` // of the Call: the answer to another one is not believed
	Seat    int           `json:"seat"`
	ID      string        `json:"id"`
	Group   votes.Group   `json:"group"`
	List    string        `json:"list"` // the seats of the group
	Version string        `json:"version,omitempty"`
	Age     time.Duration `json:"age_ns"` // since when it stands, by the boot clock
	Opens   time.Duration `json:"opens_ns,omitempty"`
	Why     string        `json:"why,omitempty"` // it abstains, or grants nothing
	Time    time.Time     `json:"time,omitzero"`
	Refused [2]uint64     `json:"refused,omitzero"` // see Sealer.Refused
	Rate    *float64      `json:"rate,omitempty"`   // by how much its kernel corrects its clock, as a share; nil: unknown
	Seen    [][]string    `json:"seen,omitempty"`

	Entry   *Entry   `json:"entry,omitempty"` // about the lock
	Entries []Entry  `json:"entries,omitempty"`
	More    bool     `json:"more,omitempty"` // there are further entries
	Mark    uint64   `json:"mark,omitempty"`
	Request *Request `json:"request,omitempty"`
	Done    bool     `json:"done,omitempty"`    // what was asked for
	Refusal string   `json:"refusal,omitempty"` // why not; not that it is bound to another
	Partial bool     `json:"partial,omitempty"` // its records may be incomplete
}

// An Entry is what a voter knows about a lock.
type Entry struct {
	Space  string        `json:"space,omitempty"`
	Name   string        `json:"name,omitempty"`
	To     votes.Term    `json:"to,omitzero"` // bound to this term
	Token  uint64        `json:"token,omitempty"`
	Left   time.Duration `json:"left_ns,omitempty"`
	Ended  bool          `json:"ended,omitempty"` // an operator has ended that term
	Label  *Label        `json:"label,omitempty"`
	Record *Record       `json:"record,omitempty"`
}

// The bounds of what is sent over TCP, in bytes. A text may have escapes of six bytes.
const (
	maxCall  = 64 << 10
	maxReply = 4 << 20
)

func (r *Record) check() bool { return r == nil || len(r.Text) <= locks.MaxRecord }

func (c *Call) check() bool {
	seen := 0
	if h := c.Hello; h != nil {
		if h.Seat < 0 || h.Seat >= votes.MaxSeats || len(h.ID) > votes.MaxID || len(h.Seen) > votes.MaxSeats {
			return false
		}
		for _, ids := range h.Seen {
			seen += len(ids)
		}
	}
	return max(len(c.Space), len(c.Lock)) <= votes.MaxName && len(c.Nonce) <= votes.MaxID && c.Write.check() && len(c.Fetch) <= votes.MaxID && seen <= maxSeen &&
		(c.List == nil || len(c.List.After) <= votes.MaxName) &&
		(c.Request == nil || len(c.Request.ID) <= votes.MaxID && len(c.Request.Text) <= locks.MaxRecord)
}

// maxSeen bounds the ids of all seats together.
const maxSeen = 8 * votes.MaxSeats

func (r *Reply) check() bool {
	ok := r.Seat >= 0 && r.Seat < votes.MaxSeats && max(len(r.ID), len(r.Version)) <= votes.MaxID && len(r.List) <= maxList &&
		r.Group.Check() == nil && min(r.Age, r.Opens) >= 0 && len(r.Entries) <= locks.MaxList && max(len(r.Why), len(r.Refusal)) <= 4*maxText && len(r.Seen) <= votes.MaxSeats &&
		(r.Request == nil || len(r.Request.Text) <= locks.MaxRecord)
	for _, e := range append(r.Entries, *cmp.Or(r.Entry, new(Entry))) {
		ok = ok && max(len(e.Space), len(e.Name)) <= votes.MaxName && e.Left >= 0 && e.Left <= votes.MaxLongest && e.Label.check() && e.Record.check() && len(e.To.Candidate) <= votes.MaxID
	}
	return ok
}

// WriteCall, ReadCall, WriteReply and ReadReply send and receive over a stream. What is read is
// within bounds, but may be a lie.
func (s *Sealer) WriteCall(w io.Writer, c *Call) error   { return s.write(w, c) }
func (s *Sealer) WriteReply(w io.Writer, r *Reply) error { return s.write(w, r) }

// ReadCall is the other end of WriteCall.
func (s *Sealer) ReadCall(r io.Reader) (*Call, error) {
	c := new(Call)
	if err := s.read(r, maxCall, c); err != nil {
		return nil, err
	}
	if !c.check() {
		return nil, errors.New("out of bounds")
	}
	return c, nil
}

// ReadReply is the other end of WriteReply.
func (s *Sealer) ReadReply(r io.Reader) (*Reply, error) {
	a := new(Reply)
	if err := s.read(r, maxReply, a); err != nil {
		return nil, err
	}
	if !a.check() {
		return nil, errors.New("out of bounds")
	}
	return a, nil
}

func (s *Sealer) write(w io.Writer, message any) error {
	plain, err := json.Marshal(message)
	if err != nil {
		return err
	}
	sealed := s.Seal(plain)
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(sealed))), sealed...))
	return err
}

func (s *Sealer) read(r io.Reader, most uint32, message any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > most {
		return fmt.Errorf("%d bytes are too many", n)
	}
	sealed, err := io.ReadAll(io.LimitReader(r, int64(n))) // grows with what has come
	if err == nil && uint32(len(sealed)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	plain, err := s.Open(sealed)
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, message)
}
