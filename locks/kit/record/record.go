// Package record is what backends keep beside a lock for people to read: who
// holds it, and since when. It is never a ground for a decision.
package record

import (
	"cmp"
	"encoding/json"
	"os"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// maxSize is the most that is read of what somebody wrote as a record.
const maxSize = 64 << 10

// A record is stored as JSON.
type record struct {
	Holder  string    `json:"holder"`
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	RunID   string    `json:"run_id,omitempty"`
	Since   time.Time `json:"since,omitzero"` // of the wait, and once it leads, of the term
	TTL     string    `json:"ttl,omitempty"`  // as time.Duration prints it
	Version string    `json:"version,omitempty"`

	Priority int  `json:"priority,omitempty"`
	NoResign bool `json:"no_resign,omitempty"`
}

// New returns the record of a contender at this moment.
func New(o locks.Options) []byte {
	host, _ := os.Hostname() // without a name it is left out
	b, err := json.Marshal(record{
		Holder: o.Holder, Host: host, PID: cmp.Or(o.PID, os.Getpid()), RunID: o.RunID, Version: o.Version,
		Since: time.Now().UTC().Truncate(time.Millisecond), TTL: o.TTL.String(),
		Priority: o.Priority, NoResign: o.NoResign,
	})
	if err != nil {
		panic("record: strings cannot be encoded: " + err.Error())
	}
	return b
}

// Status reads the record of the holder who has the given token, whoever wrote
// it. What makes no sense is left out.
func Status(data []byte, token uint64) locks.Status {
	s := locks.Status{Held: true, Token: token}
	r := read(data)
	s.Holder, s.RunID, s.Host, s.PID, s.Since, s.NoResign = r.Holder, r.RunID, r.Host, max(r.PID, 0), r.Since, r.NoResign
	if ttl, err := time.ParseDuration(r.TTL); err == nil && ttl > 0 {
		s.TTL = ttl
	}
	return s
}

// Place reads the record of a contender in a queue, whoever wrote it.
func Place(data []byte) locks.Place {
	r := read(data)
	p := locks.Place{Holder: r.Holder, RunID: r.RunID, Since: r.Since}
	if -locks.MaxPriority <= r.Priority && r.Priority <= locks.MaxPriority {
		p.Priority = r.Priority
	}
	return p
}

// read returns the zero record for what is none.
func read(data []byte) record {
	var r record
	if len(data) > maxSize || json.Unmarshal(data, &r) != nil {
		return record{}
	}
	return r
}
