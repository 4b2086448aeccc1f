package consul

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// An entry is a session, and the lock's key once the session has it locked. It implements
// [queue.Entry].
type entry struct {
	lock     *lock
	campaign *queue.Campaign

	// What was last seen of the key; only Enter, Await and Look use it.
	seen    *pair
	fresh   bool // Look need not read the key again
	index   uint64
	delayed bool // the key is free, but a lock delay is not over

	closed bool // the session has certainly ended; only Leave uses it

	mu      sync.Mutex
	session string        // "": none (yet)
	token   uint64        // 0: we do not lead (yet)
	tried   bool          // a request to lock the key was sent
	expires clock.Instant // when the session may have ended, unless it is renewed
}

// NewEntry implements [queue.Store].
func (l *lock) NewEntry(c *queue.Campaign) (queue.Entry, error) {
	return &entry{lock: l, campaign: c}, nil
}

// A handover has what another handle needs to continue our term, or our place.
type handover struct {
	Session string        `json:"session"`
	TTL     time.Duration `json:"ttl_ns"`
	Token   uint64        `json:"token"`
}

// Term implements [queue.Entry].
func (e *entry) Term() string {
	id, token := e.ours()
	b, _ := json.Marshal(handover{id, e.campaign.TTL(), token}) // a string and numbers can be encoded
	return string(b)
}

// Adopt implements [queue.Entry].
func (e *entry) Adopt(text string) (token uint64, err error) {
	var t handover
	if err := json.Unmarshal([]byte(text), &t); err != nil || t.Session == "" || t.TTL <= 0 || t.Token == 0 {
		return 0, locks.Usagef("not a term of a Consul lock")
	}
	e.started(t, clock.Boot{}.Now())
	return t.Token, nil
}

// started notes a session that was made, or renewed, at the given moment or later. From
// then on the campaign ends when nobody renews it.
func (e *entry) started(t handover, sent clock.Instant) {
	e.mu.Lock()
	e.session, e.token, e.tried, e.expires = t.Session, t.Token, t.Token != 0, sent.Add(t.TTL)
	e.mu.Unlock()
	e.campaign.Granted(t.TTL)
	e.campaign.Spawn(e.expire)
}

// expire ends the campaign when its session may have ended, although the server may keep
// it for twice its ttl. After that nothing extends it. A waiter would not learn of it otherwise.
func (e *entry) expire(ctx context.Context) {
	for {
		e.mu.Lock()
		at := e.expires
		e.mu.Unlock()
		if (clock.Boot{}).Now() >= at {
			e.campaign.Lose(errNotRenewed)
			return
		}
		timer := clock.NewTimer(clock.Boot{}, at)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// ours returns our session and our token, as far as we have them.
func (e *entry) ours() (session string, token uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.session, e.token
}

// Renew implements [queue.Entry]. The server renews a session without making sure that it
// still leads, and whether or not the session has our key. So a consistent read follows.
func (e *entry) Renew(ctx context.Context) error {
	e.mu.Lock()
	session, token, expires := e.session, e.token, e.expires
	e.mu.Unlock()
	if session == "" {
		return locks.ErrNoLease
	}
	ctx, cancel := e.campaign.UntilOver(ctx)
	defer cancel()
	sent := clock.Boot{}.Now()
	if sent >= expires {
		return errNotRenewed
	}
	found, err := e.lock.client.put(ctx, "/v1/session/renew/"+session, nil, 0, nil)
	switch {
	case err != nil:
		return err
	case !found:
		if err := e.lock.client.gone(ctx, session); err != nil {
			return err
		}
		return errExpired
	}
	if token != 0 {
		var p *pair
		if p, err = e.lock.client.read(ctx, e.lock.key); err == nil {
			err = e.lost(p)
		}
	}
	if err == nil {
		e.mu.Lock()
		e.expires = max(e.expires, sent.Add(e.campaign.TTL()))
		e.mu.Unlock()
	}
	return err
}

// errNotYet says that a server has answered from an old state. It passes.
var errNotYet = errors.New("the server that leads has not yet read its log")

// gone returns nil if there is certainly no such session. A server that has just become the
// leader answers requests to renew or end a session from the part of its log that it has read.
func (c *client) gone(ctx context.Context, session string) error {
	var all []struct{}
	_, err := c.get(ctx, "/v1/session/info/"+session, 0, 0, &all)
	if err == nil && len(all) > 0 {
		return errNotYet
	}
	return err
}

// lost returns an error if our session does not have the key.
func (e *entry) lost(p *pair) error {
	session, _ := e.ours()
	switch {
	case p == nil:
		return errDeleted
	case p.Session != session:
		return errUnlocked
	}
	return nil
}

// WatchEntry implements [queue.Entry].
func (e *entry) WatchEntry(ctx context.Context, pause *backoff.Backoff) error {
	for index := uint64(0); ; {
		p, next, err := e.lock.client.block(ctx, e.lock.key, index, e.lock.wait())
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if err := e.lost(p); err != nil {
			return err
		}
		index = next
		pause.Reset()
	}
}

// Update implements [queue.Entry]: the label is as old as the term.
func (e *entry) Update(context.Context) error { return nil }

// End implements [queue.Entry].
func (e *entry) End(error) {}

// Leave implements [queue.Entry]. After a session that ends with its key, Consul keeps
// everybody out for the lock delay, so the key is deleted first. Once that is done the lock is
// free, whatever becomes of the session. If the session did not have the key, a request to
// lock it may still be under way: it must find no session. If the request to end that has an
// answer, only a read that contradicts it counts: see gone.
func (e *entry) Leave(ctx context.Context) error {
	e.mu.Lock()
	session, tried := e.session, e.tried
	e.mu.Unlock()
	if session == "" || e.closed {
		return nil
	}
	return e.lock.retry(ctx, func(ctx context.Context) (err error) {
		ctx, cancel := backoff.Try(ctx)
		defer cancel()
		free := false
		if tried {
			if free, err = e.unlock(ctx, session); err != nil && transient(err) {
				return err
			}
		}
		_, err = e.lock.client.put(ctx, "/v1/session/destroy/"+session, nil, 0, nil)
		if err == nil {
			if !free {
				err = e.lock.client.gone(ctx, session)
			}
			e.closed = !errors.Is(err, errNotYet)
		}
		if free || e.closed {
			return nil
		}
		return err
	})
}

// unlock deletes the key if our session has it, and reports whether it had.
func (e *entry) unlock(ctx context.Context, session string) (deleted bool, err error) {
	_, err = e.lock.client.transact(ctx,
		op{Verb: "check-session", Key: e.lock.key, Session: session},
		op{Verb: "delete", Key: e.lock.key})
	if first(err) {
		return false, nil
	}
	return err == nil, err
}
