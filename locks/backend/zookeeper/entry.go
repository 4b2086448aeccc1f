package zookeeper

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// An entry is a place in the queue: a session of its own, and what belongs to that. It
// implements [queue.Entry].
type entry struct {
	*lock
	*queue.Campaign
	s      *session
	guid   string
	plain  atomic.Bool // the server knows no containers
	view   *view       // what Enter or Look have shown; theirs
	closed bool        // the session is surely gone; of Leave
	mute   bool        // that it cannot hear was told; of Hear

	mu      sync.Mutex
	expires clock.Instant // when the session may have ended, unless it is renewed
	proof   string        // the node that a renewal looks at; "": nothing to renew (yet)
	token   uint64        // of our node; 0: there is none (yet)
	failed  bool          // the last renewal did
}

// NewEntry implements [queue.Store].
func (l *lock) NewEntry(c *queue.Campaign) (queue.Entry, error) {
	s, err := l.newSession()
	return &entry{lock: l, Campaign: c, s: s, guid: rand.Text()}, err
}

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

// Term implements [queue.Entry].
func (e *entry) Term() string {
	s, own := e.s.session(), e.ours()
	b, _ := json.Marshal(term{s.id, s.passwd, s.timeout.Milliseconds(), own.path, own.token(), e.plain.Load(), e.s.identities()}) //nolint:gosec // the password is for the core alone
	return string(b)
}

// Adopt implements [queue.Entry]. The session is resumed by the next renewal, by a
// server that knows our node.
func (e *entry) Adopt(text string) (token uint64, err error) {
	var t term
	if err := json.Unmarshal([]byte(text), &t); err != nil || t.Session == 0 || t.TTLms <= 0 || t.Node == "" || t.Token == 0 {
		return 0, &locks.UsageError{What: "not a term of a ZooKeeper lock"}
	}
	ttl := time.Duration(t.TTLms) * time.Millisecond
	e.s.resumes(ticket{t.Session, ttl, t.Password}, int64(t.Token), t.Users)
	e.plain.Store(t.Plain)
	e.mu.Lock()
	e.proof, e.token = t.Node, t.Token
	e.mu.Unlock()
	e.begin(clock.Boot{}.Now())
	return t.Token, nil
}

// begin notes that the session began, at the latest at the given moment. From
// then on the entry ends when it is not renewed.
func (e *entry) begin(sent clock.Instant) {
	ttl := e.s.session().timeout
	e.Granted(ttl)
	e.mu.Lock()
	e.expires = sent.Add(ttl)
	e.mu.Unlock()
	e.Spawn(e.expire)
}

// expire ends the entry when its session has, or when nobody has renewed it for
// as long as that may last: whatever the servers would allow, nothing is sent
// for it any more.
func (e *entry) expire(ctx context.Context) {
	for {
		at := e.expiry()
		timer := clock.NewTimer(clock.Boot{}, at)
		select {
		case <-timer.C:
			if e.expiry() == at {
				e.Lose(errNotRenewed)
				return
			}
		case <-e.s.done:
			timer.Stop()
			e.Lose(e.s.whyOver())
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func (e *entry) expiry() clock.Instant {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.expires
}

// entered notes what can be renewed from now on: our node, or if there is none
// one that is always there.
func (e *entry) entered(own *node) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if own == nil {
		e.proof = e.settings.chroot
		return
	}
	e.proof, e.token = own.path, own.token()
}

// ours is our node, once we have entered.
func (e *entry) ours() *node {
	e.mu.Lock()
	defer e.mu.Unlock()
	return &node{path: e.proof, stat: zk.Stat{Czxid: int64(e.token)}}
}

// End implements [queue.Entry].
func (e *entry) End(why error) { e.s.end(why) }

// Leave implements [queue.Entry]. A server drops, without an answer, what it is asked for
// a session that another has just closed: so it is as well that one does so at a time.
func (e *entry) Leave(ctx context.Context) error {
	if e.closed || errors.Is(e.Over(), errExpired) {
		return nil
	}
	err := e.s.closeSession(ctx)
	e.closed = err == nil
	return err
}

// Tidy implements [queue.Tidier], for servers without containers.
func (e *entry) Tidy(ctx context.Context) {
	own := e.ours()
	if !e.plain.Load() || own.path == "" || e.settings.unfair {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	if err := e.tidy(ctx, own.path); err != nil {
		e.log.Debug("cannot tidy up", "err", err)
	}
}
