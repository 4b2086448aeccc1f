package zookeeper

import (
	"encoding/json"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/clock"
)

// A term is what another handle needs to go on with ours.
type term struct {
	Session  int64    `json:"session"`
	Password [16]byte `json:"password"`
	TTLms    int64    `json:"ttl_ms"`
	Node     string   `json:"node"`
	Token    uint64   `json:"token"`
	Plain    bool     `json:"plain,omitempty"` // the server knows no containers
	Users    []string `json:"users,omitempty"` // to whom the node belongs
}

// Term implements [locks.Adopter].
func (l *Lock) Term() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, s := l.current, l.current.s.session()
	b, _ := json.Marshal(term{s.id, s.passwd, s.timeout.Milliseconds(), e.proof, e.token, e.plain.Load(), e.s.identities()}) //nolint:gosec // the password is for the core alone
	return string(b)
}

// Adopt implements [locks.Adopter]. The session is resumed by the next renewal, by a
// server that knows our node.
func (l *Lock) Adopt(text string) error {
	var t term
	if err := json.Unmarshal([]byte(text), &t); err != nil || t.Session == 0 || t.TTLms <= 0 || t.Node == "" || t.Token == 0 {
		return &locks.UsageError{What: "not a term of a ZooKeeper lock"}
	}
	e, err := l.adopt(t)
	if err != nil {
		return err
	}
	e.spawn(e.expire)
	e.guard(&node{path: t.Node, stat: zk.Stat{Czxid: int64(t.Token)}}, 0)
	e.lead()
	return nil
}

func (l *Lock) adopt(t term) (*entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := l.newEntry()
	if err != nil {
		return nil, err
	}
	ttl := time.Duration(t.TTLms) * time.Millisecond
	e.s.resumes(ticket{t.Session, ttl, t.Password}, int64(t.Token), t.Users)
	e.plain.Store(t.Plain)
	e.ttl, e.expires, e.proof, e.token = ttl, clock.Boot{}.Now().Add(ttl), t.Node, t.Token
	l.current = e
	return e, nil
}

var _ locks.Adopter = (*Lock)(nil)
