package caslease

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

const (
	// undoTimeout bounds the attempt to undo an Acquire that failed. If it is too short,
	// the lease runs out.
	undoTimeout = time.Second
	// lingerTime is how long Acquire still waits for the answer to a write after its
	// context has ended.
	lingerTime = undoTimeout / 2
)

// A Lock is a handle on one lock in a store. It implements [locks.Lock], and those of the
// optional interfaces in that package that the store supports.
type Lock struct {
	*handle.Handle
	store    Store
	traits   *Traits
	ttl      time.Duration
	id       string // random: what the nonces of all our attempts begin with
	said     string // the last request that we have sent; see EncodeText
	watching watching

	campaign *campaign // used only by Acquire

	mu      sync.Mutex
	pending context.CancelFunc   // ends the Acquire under way; nil: there is none
	viewed  map[string]*observer // by Inspect and List, by the lock's name
	waiting bool                 // Acquire waits, and no write of its own is under way
	term    *term                // what was granted; nil: nothing yet
	final   error                // why the handle cannot be used any longer; nil: it can

	renewing       chan struct{} // closed when the renewal under way has ended; nil: there is none
	polling        bool          // a read of requests is under way
	requestsDenied bool          // we are not allowed to read requests
}

// New makes a handle on the lock that o names, without contacting the store. The handle
// closes the store when it is closed.
func New(s Store, t Traits, o locks.Options) *Lock {
	l := &Lock{
		store: s, traits: t.filled(),
		ttl:    roundTTL(o.TTL),
		id:     rand.Text(),
		viewed: map[string]*observer{},
	}
	l.Handle = handle.New(t.Backend, o, l.explain)
	l.Secrets = t.Secrets
	l.campaign = newCampaign(l)
	if !l.watching.init(s) {
		l.Losses = nil // only a renewal finds out about a loss
	}
	return l
}

// roundTTL rounds up to the milliseconds of a state, and to at least a second, because a
// request may take that long.
func roundTTL(ttl time.Duration) time.Duration {
	return max((ttl + time.Millisecond - 1).Truncate(time.Millisecond), time.Second)
}

// Acquire implements [locks.Lock].
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	bounded, end, err := l.begin(ctx)
	if err != nil {
		return locks.Grant{}, l.Fail(ctx, "acquire", err)
	}
	defer end()
	c := l.campaign
	t, err := c.run(bounded, try)
	if err == nil {
		err = l.adopt(t)
		c.dirty = err != nil
	}
	if err == nil {
		return locks.Grant{Token: t.state.Token, TTL: l.ttl, Clean: t.clean}, nil
	}
	if over := l.why(); over != nil {
		err = over // released or closed meanwhile
	}
	c.undo(ctx)
	return locks.Grant{}, l.Fail(ctx, "acquire", err)
}

// begin returns a context for a campaign, which Release and Close also end.
func (l *Lock) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final != nil {
		return nil, nil, l.final
	}
	ctx, cancel := l.Workers.Until(ctx)
	l.pending = cancel
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pending = nil
	}, nil
}

// why returns why the handle cannot be used any longer, or nil.
func (l *Lock) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.final
}

// adopt makes a term ours, unless the handle has ended meanwhile.
func (l *Lock) adopt(t *term) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final == nil {
		l.term = t
		l.watchTerm(t)
	}
	return l.final
}

// finish ends the handle, unless it has ended already.
func (l *Lock) finish(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final == nil {
		l.final = why
	}
}

// Renew implements [locks.Lock]. While Acquire waits, and has sent nothing that may have
// made the lock ours, Renew succeeds without a request: a waiter has no place that could
// end, and a later grant runs from a later moment. That saves the core the renewal, a write,
// with which it would otherwise have to begin a term whose campaign began long ago.
func (l *Lock) Renew(ctx context.Context) error {
	l.mu.Lock()
	t, final, waiting := l.term, l.final, l.waiting
	l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return l.Fail(ctx, "renew", ctx.Err())
	case final != nil:
		return l.Fail(ctx, "renew", final)
	case t == nil && waiting:
		return nil
	case t == nil:
		return locks.ErrNoLease
	}
	ctx2, cancel := l.Workers.Until(ctx)
	defer cancel()
	defer l.renewal()()
	if err := l.renew(ctx2, t); err != nil {
		return l.Fail(ctx, "renew", err)
	}
	l.pollRequests(t)
	return nil
}

// Release implements [locks.Lock].
func (l *Lock) Release(ctx context.Context) error {
	t := l.endForRelease()
	if t == nil {
		return nil
	}
	ctx2, cancel := l.Workers.Until(ctx)
	defer cancel()
	if err := l.release(ctx2, t); err != nil {
		return l.Fail(ctx, "release", err)
	}
	return nil
}

// endForRelease ends the handle, if there is anything to release, and returns the term that
// is to be released, or nil.
func (l *Lock) endForRelease() *term {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final == nil && (l.term != nil || l.pending != nil) {
		l.final = errReleased
	}
	if l.pending != nil {
		l.pending()
	}
	return l.term
}

// Close implements [locks.Lock].
func (l *Lock) Close() error {
	l.stop()
	return l.store.Close()
}

// SentSecrets implements [locks.SecretSender].
func (l *Lock) SentSecrets() []string {
	if l.traits.Sent == nil {
		return nil
	}
	return l.traits.Sent()
}

func (l *Lock) now() clock.Instant { return l.traits.Clock.Now() }

// Term implements [locks.Adopter]. It is the state that each renewal writes.
func (l *Lock) Term() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term.state.encode()
}

// Adopt implements [locks.Adopter]. The next renewal reads the cell first.
func (l *Lock) Adopt(text string) error {
	s, err := parseState(text)
	if err != nil || s.Is != held || s.Token == 0 {
		return &locks.UsageError{What: "not a term of a " + l.traits.Product + " lock"}
	}
	return l.adopt(&term{state: s, sent: l.now()})
}

// stop ends the handle and all that it does, but leaves the store open.
func (l *Lock) stop() {
	l.finish(workers.ErrClosed)
	l.Workers.End()
	l.Workers.Wait()
}

var (
	_ locks.Lock         = (*Lock)(nil)
	_ locks.Adopter      = (*Lock)(nil)
	_ locks.SecretSender = (*Lock)(nil)
)
