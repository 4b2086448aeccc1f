package queue

import (
	"encoding/json"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/label"
)

// maxSize bounds what is read of a label, which anybody may have written.
const maxSize = 64 << 10

// An entryLabel is what a run writes into its entry, as JSON. The priority is the only field
// that somebody acts on: see package runner.
type entryLabel struct {
	label.Label
	TTL      string `json:"ttl,omitempty"` // as time.Duration prints it
	Priority int    `json:"priority,omitempty"`
}

// NewLabel returns the label of a run whose wait or term begins now.
func NewLabel(o locks.Options) []byte {
	b, err := json.Marshal(entryLabel{label.Of(o), o.TTL.String(), o.Priority})
	if err != nil {
		panic("queue: a label of strings and numbers cannot be encoded: " + err.Error())
	}
	return b
}

// IsLabel reports whether a run may have written the data as its label.
func IsLabel(data []byte) bool { return readLabel(data).TTL != "" }

// ReadPlace reads the label of an entry that waits, whoever wrote it. Values that make no
// sense are left out.
func ReadPlace(data []byte) locks.Place {
	b := readLabel(data)
	p := locks.Place{Holder: b.Holder, RunID: b.RunID, Since: b.Since}
	if -locks.MaxPriority <= b.Priority && b.Priority <= locks.MaxPriority {
		p.Priority = b.Priority
	}
	return p
}

// status reads the label of the entry that leads, whoever wrote it. Values that make no
// sense are left out.
func (h *Head) status() locks.Status {
	b := readLabel(h.Label)
	s := b.Status()
	s.Token = h.Token
	if h.Ended {
		s.Left, s.Confirm = -time.Millisecond, h.Confirm // nobody says since when
	}
	if ttl, err := time.ParseDuration(b.TTL); err == nil && ttl > 0 {
		s.TTL = ttl
	}
	return s
}

// readLabel returns the zero label if the data is not a label.
func readLabel(data []byte) entryLabel {
	var b entryLabel
	if len(data) > maxSize || json.Unmarshal(data, &b) != nil {
		return entryLabel{}
	}
	return b
}
