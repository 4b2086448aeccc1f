package zookeeper

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// An entry is one campaign's entry in the queue: its own session, with its node. It
// implements [queue.Entry].
type entry struct {
	lock         *lock
	campaign     *queue.Campaign
	s            *session
	guid         string
	plain        atomic.Bool // the server has no containers
	view         *view       // the last view; only Enter, Await and Look use it
	closed       bool        // the session has certainly ended; only Leave uses it
	loggedDenied bool        // it was logged that requests cannot be read; only WatchRequests uses it

	mu      sync.Mutex
	expires clock.Instant // when the session may have ended, unless it is renewed
	proof   string        // the node that a renewal checks; "": nothing to renew yet
	token   uint64        // of our node; 0: none yet
	failed  bool          // the last renewal failed
}

// NewEntry implements [queue.Store].
func (l *lock) NewEntry(c *queue.Campaign) (queue.Entry, error) {
	s, err := l.newSession()
	return &entry{lock: l, campaign: c, s: s, guid: rand.Text()}, err
}

// A handover has what another handle needs to continue our term, or our place.
type handover struct {
	Session  int64    `json:"session"`
	Password [16]byte `json:"password"`
	TTLms    int64    `json:"ttl_ms"`
	Node     string   `json:"node"`
	Token    uint64   `json:"token"`
	Plain    bool     `json:"plain,omitempty"` // the server has no containers
	Users    []string `json:"users,omitempty"` // the node belongs to them
}

// Term implements [queue.Entry].
func (e *entry) Term() string {
	s, own := e.s.session(), e.ours()
	b, _ := json.Marshal(handover{s.id, s.passwd, e.campaign.TTL().Milliseconds(), own.path, own.token(), e.plain.Load(), e.s.identities()}) //nolint:gosec // only the core gets the password
	return string(b)
}

// Adopt implements [queue.Entry]. The next renewal resumes the session, on a server that
// knows our node.
func (e *entry) Adopt(text string) (token uint64, err error) {
	var t handover
	if err := json.Unmarshal([]byte(text), &t); err != nil || t.Session == 0 || t.TTLms <= 0 || t.Node == "" || t.Token == 0 {
		return 0, &locks.UsageError{What: "not a term of a ZooKeeper lock"}
	}
	ttl := time.Duration(t.TTLms) * time.Millisecond
	e.s.adopt(sessionInfo{t.Session, ttl, t.Password}, int64(t.Token), t.Users)
	e.plain.Store(t.Plain)
	if guid, _, ok := strings.Cut(path.Base(t.Node), sequenceMark); ok {
		e.guid = guid
	}
	e.mu.Lock()
	e.proof, e.token = t.Node, t.Token
	e.mu.Unlock()
	e.begin(clock.Boot{}.Now())
	return t.Token, nil
}

// begin notes that the session began no earlier than sent. From then on the entry
// ends if it is not renewed.
func (e *entry) begin(sent clock.Instant) {
	ttl := e.s.session().timeout
	e.campaign.Granted(ttl)
	e.mu.Lock()
	e.expires = sent.Add(ttl)
	e.mu.Unlock()
	e.campaign.Spawn(e.expire)
}

// expire ends the entry when its session has ended, or has not been renewed for its whole
// timeout. After that nothing is sent for it, whatever the servers would allow.
func (e *entry) expire(ctx context.Context) {
	for {
		at := e.expiry()
		timer := clock.NewTimer(clock.Boot{}, at)
		select {
		case <-timer.C:
			if e.expiry() == at {
				e.campaign.Lose(errNotRenewed)
				return
			}
		case <-e.s.done:
			timer.Stop()
			e.campaign.Lose(e.s.endCause())
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

// entered notes the node that renewals check: ours, or the chroot if we have none.
func (e *entry) entered(own *node) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if own == nil {
		e.proof = e.lock.settings.chroot
		return
	}
	e.proof, e.token = own.path, own.token()
}

// ours returns our node, once we have entered.
func (e *entry) ours() *node {
	e.mu.Lock()
	defer e.mu.Unlock()
	return &node{path: e.proof, stat: zk.Stat{Czxid: int64(e.token)}}
}

// End implements [queue.Entry].
func (e *entry) End(why error) { e.s.end(why) }

// Leave implements [queue.Entry]. A server drops, without an answer, a request for a session
// that was just closed. So it matters that Leave is not called concurrently.
func (e *entry) Leave(ctx context.Context) error {
	if e.closed || errors.Is(e.campaign.Over(), errExpired) {
		return nil
	}
	err := e.s.closeSession(ctx)
	e.closed = err == nil
	return err
}

// Tidy implements [queue.Tidier], for servers without containers.
func (e *entry) Tidy(ctx context.Context) {
	own := e.ours()
	if !e.plain.Load() || own.path == "" || e.lock.settings.unfair {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	if err := e.tidy(ctx, own.path); err != nil {
		e.lock.log.Debug("cannot tidy up", "err", err)
	}
}

// Renew implements [queue.Entry]. If the last attempt failed, it uses another address.
func (e *entry) Renew(ctx context.Context) error {
	e.mu.Lock()
	proof, token, another := e.proof, e.token, e.failed
	e.mu.Unlock()
	if proof == "" {
		return locks.ErrNoLease
	}
	ctx, cancel := e.campaign.UntilOver(ctx)
	defer cancel()
	sent := clock.Boot{}.Now()
	err := e.s.renew(ctx, proof, another)
	if err == nil && token != 0 && e.lock.settings.unfair { // in fair mode, the node's name is only ours
		err = e.verify(ctx, proof, token)
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = errDeleted
	}
	if err == nil && token != 0 { // our node is still in the queue
		e.campaign.StillWaits()
	}
	return e.renewed(sent, err)
}

// verify checks that the node that leads is the one that we created.
func (e *entry) verify(ctx context.Context, path string, token uint64) error {
	n, err := e.s.get(ctx, path)
	if err == nil && n.token() != token {
		return errReplaced
	}
	return err
}

// renewed notes the result of an attempt that began at sent.
func (e *entry) renewed(sent clock.Instant, err error) error {
	ttl, granted := e.campaign.TTL(), e.s.session().timeout
	if err == nil && granted < ttl {
		err = fmt.Errorf("the server granted %v to a session that had %v; the servers of an ensemble need the same limits", granted, ttl)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failed = err != nil
	if err == nil {
		e.expires = max(e.expires, sent.Add(ttl))
	}
	return err
}
