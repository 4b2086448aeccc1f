// Package wire is how the hosts of a quorum talk: votes in packets over UDP, and all that people
// ask for, and records, in calls over TCP. Both are sealed, see [Sealer]. A voter answers only to
// where a packet came from, and never with much more than it got: see [Packet.Encode].
package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/kit/label"
)

// The bounds of what is sent, in bytes.
const (
	// least is the size of a request. It is filled up, so that an answer is not much larger.
	least      = 512
	factor     = 3 // an answer is at most so many times as large
	maxPacket  = 8 << 10
	maxText    = 256     // of each text in a label
	maxList    = 9 * 300 // of the names of all seats
	MaxWaiters = 64      // that a voter knows
)

// A Packet is what candidates and voters send to each other over UDP.
type Packet struct {
	Space string        `json:"space,omitempty"`
	Vote  votes.Message `json:"vote"`
	// Label is of the candidate that asks, or of the term to which the voter is bound.
	Label *Label `json:"label,omitempty"`
	// Place is the place of a candidate among those that a voter has refused, from 0. It is
	// in refusals, and in withdrawals that the voter passes on.
	Place int `json:"place,omitempty"`
	// Request names a request to the holder that the voter has, for the holder to fetch.
	Request string `json:"request,omitempty"`
	// List is the list of seats of the sender's group, where the two may differ.
	List string `json:"list,omitempty"`
}

// A Label is what a candidate says about itself, for people to read.
type Label struct {
	label.Label
	TTL time.Duration `json:"ttl_ns,omitempty"`
}

// NewLabel returns that of a handle, without what would make packets longer.
func NewLabel(o locks.Options) *Label {
	l := &Label{label.Of(o).Cut(maxText), o.TTL}
	l.Since, l.Version = time.Time{}, ""
	return l
}

// Status returns what a label says, which may be nothing.
func (l *Label) Status() locks.Status {
	if l == nil {
		return locks.Status{}
	}
	s := l.Label.Status()
	s.TTL = l.TTL
	return s
}

func (l *Label) check() bool {
	return l == nil || max(len(l.Holder), len(l.RunID), len(l.Host), len(l.Advertise)) <= maxText && l.TTL >= 0 && l.TTL <= votes.MaxLongest
}

// Encode returns the bytes of a request. They are filled up with blanks.
func (p Packet) Encode() ([]byte, error) {
	b, err := json.Marshal(p)
	if err == nil {
		b = append(b, bytes.Repeat([]byte{' '}, max(0, least-len(b)))...)
	}
	return b, err
}

// EncodeAnswer returns the bytes of an answer to a request, or of what follows one, of so many
// bytes. It leaves out what only people read, rather than be more than three times as large.
func (p Packet) EncodeAnswer(request int) ([]byte, error) {
	for {
		b, err := json.Marshal(p)
		switch {
		case err != nil || len(b) <= factor*max(request, least):
			return b, err
		case p.List != "":
			p.List = ""
		case p.Label != nil:
			p.Label = nil
		default:
			return nil, errors.New("the answer is too large")
		}
	}
}

// Decode reads a packet. What it returns is within bounds, but may be a lie.
func Decode(b []byte) (p Packet, err error) {
	if len(b) > maxPacket {
		return p, errors.New("too long")
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, err
	}
	if len(p.Space) > locks.MaxName || len(p.List) > maxList || !p.Label.check() || p.Place < 0 || p.Place > MaxWaiters || len(p.Request) > votes.MaxID {
		return p, errors.New("out of bounds")
	}
	if m := p.Vote; p.Request != "" && m.Ask == nil && m.Answer == nil && m.Withdrawal == nil && len(m.Lock) <= votes.MaxName {
		return p, nil // it only points a request out
	}
	return p, p.Vote.Check()
}

// List returns a list of seats as one text.
func List(names []string, g votes.Group) string {
	return fmt.Sprintf("%s longest=%v", strings.Join(names, ","), g.Longest)
}

// Hash names a sorted list of seats.
func Hash(names []string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, ",")))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
