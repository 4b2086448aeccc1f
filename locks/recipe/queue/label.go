package queue

import (
	"cmp"
	"encoding/json"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// maxSize bounds what is read of a label or a request, which anybody may have written.
const maxSize = 64 << 10

// A label is what a run writes into its entry about itself, for people to read. It is
// stored as JSON. The priority is the only field that somebody acts on: see package runner.
type label struct {
	Holder  string    `json:"holder"`
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	RunID   string    `json:"run_id,omitempty"`
	Since   time.Time `json:"since,omitzero"` // the start of the wait, or once it leads, of the term
	TTL     string    `json:"ttl,omitempty"`  // as time.Duration prints it
	Version string    `json:"version,omitempty"`

	Priority  int    `json:"priority,omitempty"`
	NoResign  bool   `json:"no_resign,omitempty"`
	Advertise string `json:"advertise,omitempty"`
}

// NewLabel returns the label of a run whose wait or term begins now.
func NewLabel(o locks.Options) []byte {
	host, _ := os.Hostname() // without a name it is left out
	b, err := json.Marshal(label{
		Holder: o.Holder, Host: host, PID: cmp.Or(o.PID, os.Getpid()), RunID: o.RunID, Version: o.Version,
		Since: time.Now().UTC().Truncate(time.Millisecond), TTL: o.TTL.String(),
		Priority: o.Priority, NoResign: o.NoResign, Advertise: o.Advertise,
	})
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
	s := locks.Status{Held: true, Token: h.Token}
	s.Holder, s.RunID, s.Host, s.PID, s.Since, s.NoResign, s.Advertise = b.Holder, b.RunID, b.Host, max(b.PID, 0), b.Since, b.NoResign, b.Advertise
	if ttl, err := time.ParseDuration(b.TTL); err == nil && ttl > 0 {
		s.TTL = ttl
	}
	return s
}

// readLabel returns the zero label if the data is not a label.
func readLabel(data []byte) label {
	var b label
	if len(data) > maxSize || json.Unmarshal(data, &b) != nil {
		return label{}
	}
	return b
}
