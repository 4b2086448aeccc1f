package zookeeper

import (
	"context"
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
}

// Term implements [locks.Adopter].
func (l *Lock) Term() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, s := l.current, l.current.s.session()
	b, _ := json.Marshal(term{s.id, s.passwd, s.timeout.Milliseconds(), e.proof, e.token, e.plain.Load()}) // can be encoded
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
	e.s.resumes(ticket{t.Session, ttl, t.Password}, int64(t.Token))
	e.plain.Store(t.Plain)
	e.ttl, e.expires, e.proof, e.token = ttl, clock.Boot{}.Now().Add(ttl), t.Node, t.Token
	e.unknown = true
	l.current = e
	return e, nil
}

// introduce makes the user known on the connections of an entry that was adopted.
func (e *entry) introduce(ctx context.Context) error {
	e.mu.Lock()
	needed := e.unknown && e.settings.auth != ""
	e.mu.Unlock()
	if !needed {
		return nil
	}
	defer e.s.want()()
	if err := e.s.login(ctx, e.settings.auth); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unknown = false
	return nil
}

var _ locks.Adopter = (*Lock)(nil)
