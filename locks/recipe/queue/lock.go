package queue

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A Lock is a handle on one lock in a store. It implements [locks.Lock], and what of the
// other interfaces of that package the store can do.
type Lock struct {
	store   Store
	traits  Traits
	o       locks.Options
	log     *slog.Logger
	lost    chan error
	asked   chan []byte
	workers *workers.Workers

	mu      sync.Mutex
	current *Entry // the latest; nil before the first campaign
	final   error  // why the handle is of no more use; nil: it is
}

// Logger is the log of a handle: the one of its options, or one that discards.
func Logger(backend string, o locks.Options) *slog.Logger {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return log.With("backend", backend, "lock", o.Name)
}

// New makes a handle on the lock that o names. It contacts nobody, and closes the store
// when it is closed.
func New(s Store, t Traits, o locks.Options) *Lock {
	return &Lock{
		store: s, traits: t, o: o, log: Logger(t.Backend, o),
		lost: make(chan error, 1), asked: make(chan []byte, 1), workers: workers.New(),
	}
}

// Acquire implements [locks.Lock].
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	e, err := l.begin(ctx)
	if err != nil {
		return locks.Grant{}, l.fail(ctx, "acquire", err)
	}
	token, err := e.campaign(ctx, try)
	ttl, over := e.TTL(), e.Over()
	if over != nil {
		err = over // lost, released or closed meanwhile
	}
	if err == nil {
		e.lead(token)
		return locks.Grant{Token: token, TTL: ttl}, nil
	}
	e.end(err, false)
	e.undo(ctx)
	return locks.Grant{}, l.fail(ctx, "acquire", err)
}

// begin makes an entry for a campaign. What an earlier one could not undo is undone
// first, as it may stand before us in the queue.
func (l *Lock) begin(ctx context.Context) (*Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	old, final := l.state()
	if final != nil {
		return nil, final
	}
	if old != nil {
		old.undo(ctx)
	}
	return l.enter()
}

// enter makes an entry that is the latest, unless the handle is of no more use.
func (l *Lock) enter() (e *Entry, err error) {
	e = l.newEntry()
	if e.place, err = l.store.Place(e); err != nil {
		return nil, err
	}
	l.mu.Lock()
	final := l.final
	if final == nil {
		l.current = e
	}
	l.mu.Unlock()
	if final != nil {
		e.end(final, false)
	}
	return e, final
}

// state returns the latest entry, and why the handle is of no more use.
func (l *Lock) state() (*Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current, l.final
}

// Renew implements [locks.Lock].
func (l *Lock) Renew(ctx context.Context) error {
	e, final := l.state()
	switch {
	case final != nil:
		return l.fail(ctx, "renew", final)
	case e == nil || e.Over() != nil || e.TTL() == 0:
		return locks.ErrNoLease
	}
	err := e.judge(e.place.Renew(ctx))
	if over := e.Over(); over != nil { // now, or while we asked
		err = over
	}
	if err != nil && !errors.Is(err, locks.ErrNoLease) {
		return l.fail(ctx, "renew", err)
	}
	return err
}

// Release implements [locks.Lock]: ending the session deletes our entry, and nothing
// else, in one step.
func (l *Lock) Release(ctx context.Context) error {
	e, _ := l.state()
	if e == nil {
		return nil
	}
	if t, ok := e.place.(Tidier); ok && e.Over() == nil {
		t.Tidy(ctx)
	}
	e.end(errReleased, true)
	if err := e.leave(ctx); err != nil {
		return l.fail(ctx, "release", err)
	}
	return nil
}

// Lost implements [locks.Lock].
func (l *Lock) Lost() <-chan error { return l.lost }

// Close implements [locks.Lock].
func (l *Lock) Close() error {
	l.mu.Lock()
	e := l.current
	if l.final == nil {
		l.final = workers.ErrClosed
	}
	l.mu.Unlock()
	if e != nil {
		e.end(workers.ErrClosed, true)
	}
	l.workers.End()
	l.store.Close()
	l.workers.Wait()
	return nil
}

// SecretEnv implements [locks.SecretReader].
func (l *Lock) SecretEnv() []string { return l.traits.Secrets }

// Term implements [locks.Adopter].
func (l *Lock) Term() string {
	e, _ := l.state()
	return e.place.Term()
}

// Adopt implements [locks.Adopter].
func (l *Lock) Adopt(term string) error {
	e, err := l.enter()
	if err != nil {
		return err
	}
	token, err := e.place.Adopt(term)
	if err != nil {
		e.end(err, false)
		return err
	}
	e.guard(0)
	e.lead(token)
	return nil
}

var (
	_ locks.Lock         = (*Lock)(nil)
	_ locks.Adopter      = (*Lock)(nil)
	_ locks.SecretReader = (*Lock)(nil)
)
