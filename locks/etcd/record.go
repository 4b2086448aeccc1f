package etcd

import (
	"encoding/json"
	"os"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/leaderrun/leaderrun/locks"
)

// maxRecord is the most that is read of what somebody wrote as a record.
const maxRecord = 64 << 10

// A record is the value of an entry in the queue: for people, and never a
// ground for a decision.
type record struct {
	Holder  string    `json:"holder"`
	Host    string    `json:"host,omitempty"`
	PID     int       `json:"pid,omitempty"`
	RunID   string    `json:"run_id,omitempty"`
	Since   time.Time `json:"since,omitzero"` // of the wait, and once it leads, of the term
	TTL     string    `json:"ttl,omitempty"`  // as time.Duration prints it
	Version string    `json:"version,omitempty"`
}

func (e *entry) record() []byte {
	host, _ := os.Hostname() // without a name it is left out
	b, err := json.Marshal(record{
		Holder: e.o.Holder, Host: host, PID: os.Getpid(), RunID: e.o.RunID, Version: e.o.Version,
		Since: time.Now().UTC().Truncate(time.Millisecond), TTL: e.o.TTL.String(),
	})
	if err != nil {
		panic("etcd: a record of strings cannot be encoded: " + err.Error())
	}
	return b
}

// statusOf reads an entry, whoever wrote it.
func statusOf(kv *mvccpb.KeyValue) locks.Status {
	s := locks.Status{Held: true, Token: uint64(kv.CreateRevision)}
	var r record
	if len(kv.Value) > maxRecord || json.Unmarshal(kv.Value, &r) != nil {
		return s
	}
	s.Holder, s.RunID, s.Host, s.PID, s.Since = r.Holder, r.RunID, r.Host, r.PID, r.Since
	if ttl, err := time.ParseDuration(r.TTL); err == nil && ttl > 0 {
		s.TTL = ttl
	}
	return s
}
