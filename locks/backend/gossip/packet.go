package gossip

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// The bounds of what is sent, in bytes.
const (
	maxPacket = 32 << 10 // a request can have escapes of six bytes
	maxText   = 256      // of each text in a label
	maxSeats  = 2 * votes.MaxSeats
)

// A packet is what members send to each other. It has a vote, or a look, or both of a look
// and its answer.
type packet struct {
	From  netip.AddrPort `json:"from"` // where answers go
	at    clock.Instant  // when an answer arrived
	Space string         `json:"space,omitempty"`
	// Seats are where a voter that answers knows of others.
	Seats []netip.AddrPort `json:"seats,omitempty"`
	Vote  json.RawMessage  `json:"vote,omitempty"`  // a votes.Message
	Label *label           `json:"label,omitempty"` // of the candidate that asks, or of the term to which the voter is bound
	// Place is the place of a candidate among those that a voter has refused, from 0. It is
	// in refusals, and in withdrawals that the voter passes on.
	Place int   `json:"place,omitempty"`
	Look  *look `json:"look,omitempty"`
	// Request is in a look, and in what a voter passes on to the holder.
	Request *request `json:"request,omitempty"`
	Found   *found   `json:"found,omitempty"`
}

// A label is what a candidate says about itself, for people to read.
type label struct {
	Holder    string        `json:"holder,omitempty"`
	RunID     string        `json:"run_id,omitempty"`
	Host      string        `json:"host,omitempty"`
	PID       int           `json:"pid,omitempty"`
	Since     time.Time     `json:"since,omitzero"`
	TTL       time.Duration `json:"ttl_ns,omitempty"`
	NoResign  bool          `json:"no_resign,omitempty"`
	Advertise string        `json:"advertise,omitempty"`
}

func newLabel(o locks.Options) *label {
	host, _ := os.Hostname() // empty if unknown
	l := &label{Holder: cut(o.Holder), RunID: cut(o.RunID), Host: cut(host), PID: o.PID, TTL: o.TTL, NoResign: o.NoResign, Advertise: cut(o.Advertise)}
	if l.PID == 0 {
		l.PID = os.Getpid()
	}
	return l
}

func cut(s string) string { return locks.Cut(s, maxText) }

// status returns what a label says, which may be nothing.
func (l *label) status() locks.Status {
	if l == nil {
		return locks.Status{}
	}
	return locks.Status{Holder: l.Holder, RunID: l.RunID, Host: l.Host, PID: l.PID, Since: l.Since, TTL: l.TTL, NoResign: l.NoResign, Advertise: l.Advertise}
}

// A look asks a voter what it knows about a lock. It changes nothing.
type look struct {
	ID   string `json:"id"` // of the request
	Lock string `json:"lock"`
	// List asks for the names of all locks after After instead.
	List  bool   `json:"list,omitempty"`
	After string `json:"after,omitempty"`
	// Watch asks to be told when votes change, in answers to a look of this id. It is of all
	// locks if Lock is empty.
	Watch string `json:"watch,omitempty"`
	// Read asks for the record, and Write is to be kept as the record.
	Read  bool    `json:"read,omitempty"`
	Write *record `json:"write,omitempty"`
}

// found is the answer to a look. The label is in the packet.
type found struct {
	ID    string        `json:"id"`
	Voter string        `json:"voter"`
	Group votes.Group   `json:"group"`
	Age   time.Duration `json:"age_ns"`      // of the voter
	To    votes.Term    `json:"to,omitzero"` // bound to this term
	Left  time.Duration `json:"left_ns,omitempty"`
	Token uint64        `json:"token,omitempty"` // of that term
	// Mark differs when the votes that are watched do.
	Mark uint64 `json:"mark,omitempty"`
	// Record is what was asked for, and Kept reports whether what was to be written is
	// kept.
	Record *record `json:"record,omitempty"`
	Kept   bool    `json:"kept,omitempty"`
	// Names are those that a list asks for. More is set if there are further ones.
	Names []string `json:"names,omitempty"`
	More  bool     `json:"more,omitempty"`
	// Version is that of the program.
	Version string    `json:"version,omitempty"`
	Time    time.Time `json:"time,omitzero"`
}

// encode returns the bytes of a packet, with a vote or without.
func (p packet) encode(m *votes.Message) ([]byte, error) {
	if m != nil {
		b, err := votes.Encode(*m)
		if err != nil {
			return nil, err
		}
		p.Vote = b
	}
	return json.Marshal(p)
}

// decode reads a packet. What it returns is within bounds, but may be a lie.
func decode(b []byte) (p packet, m *votes.Message, err error) {
	if len(b) > maxPacket {
		return p, nil, errors.New("too long")
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, nil, err
	}
	if !p.From.IsValid() || len(p.Space) > locks.MaxName || len(p.Seats) > maxSeats || p.Label != nil && !p.Label.modest() || p.Place < 0 || p.Place > maxWaiters || p.Look != nil && !p.Look.modest() || p.Found != nil && !p.Found.modest() {
		return p, nil, errors.New("out of bounds")
	}
	if r := p.Request; r != nil && (len(r.Asker) > votes.MaxID || len(r.Lock) > votes.MaxName || len(r.Text) > locks.MaxRecord) {
		return p, nil, errors.New("out of bounds")
	}
	if p.Vote == nil {
		return p, nil, nil
	}
	vote, err := votes.Decode(p.Vote)
	return p, &vote, err
}

func (l *label) modest() bool {
	return max(len(l.Holder), len(l.RunID), len(l.Host)) <= maxText && l.TTL >= 0 && l.TTL <= votes.MaxLongest
}

func (l *look) modest() bool {
	return max(len(l.ID), len(l.Watch)) <= votes.MaxID && max(len(l.Lock), len(l.After)) <= votes.MaxName && (l.Write == nil || l.Write.modest())
}

func (f *found) modest() bool {
	return max(len(f.ID), len(f.Voter), len(f.To.Candidate), len(f.Version)) <= votes.MaxID && f.Group.Check() == nil &&
		min(f.Age, f.Left) >= 0 && len(f.Names) <= locks.MaxList && (f.Record == nil || f.Record.modest()) && f.Left <= votes.MaxLongest
}

// opens returns how long the voter abstains, because it has just started.
func (f *found) opens() time.Duration { return max(0, f.Group.Longest-f.Age) }
