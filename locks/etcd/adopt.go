package etcd

import (
	"encoding/json"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A term is what another handle needs to go on with ours.
type term struct {
	Lease   int64 `json:"lease"`
	Created int64 `json:"created"` // the revision of our entry
	TTL     int64 `json:"ttl_s"`
}

// Term implements [locks.Adopter].
func (l *Lock) Term() string {
	e, _ := l.state()
	e.mu.Lock()
	defer e.mu.Unlock()
	b, _ := json.Marshal(term{e.id, e.created, int64(e.ttl / time.Second)}) // numbers can be encoded
	return string(b)
}

// Adopt implements [locks.Adopter].
func (l *Lock) Adopt(text string) error {
	var t term
	if err := json.Unmarshal([]byte(text), &t); err != nil || t.Lease <= 0 || t.Created <= 0 || t.TTL <= 0 {
		return &locks.UsageError{What: "not a term of an etcd lock"}
	}
	e := l.entryOf(t.Lease)
	e.ttl, e.sent, e.entered = time.Duration(t.TTL)*time.Second, true, t.Created
	l.mu.Lock()
	l.current = e
	l.mu.Unlock()
	e.guard(t.Created, 0)
	e.lead(t.Created)
	return nil
}

var _ locks.Adopter = (*Lock)(nil)
