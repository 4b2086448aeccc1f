package gossip

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A Lock is a handle on one lock: a member, from its first use on. It implements
// [locks.Lock].
type Lock struct {
	*handle.Inbox
	id       string // and its name as a member
	settings *settings
	o        locks.Options
	log      *slog.Logger
	listen   transport
	workers  *workers.Workers
	changed  chan struct{} // pokes who waits for another view
	lost     chan error
	warn     sync.Once

	entering sync.Mutex // held while the handle becomes a member
	settled  bool       // it has met the others
	leader   string     // that Waiting has reported

	mu       sync.Mutex
	node     *node            // nil: it is no member yet, or no longer
	seat     netip.AddrPort   // where others look for a member of this machine; invalid: nowhere
	awaits   bool             // the seat
	seeds    []netip.AddrPort // as they were resolved last
	tried    map[netip.AddrPort]bool
	timeline timeline
	card     card // what is published
	label    locks.Status
	final    error
	closed   bool
}

// Open returns a handle. It implements [locks.Opener]: it sends nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	return open(u, o, listen)
}

func open(u *url.URL, o locks.Options, listen transport) (locks.Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	return &Lock{
		id: rand.Text(), settings: s, o: o, log: handle.Logger("gossip", o), listen: listen, workers: workers.New(),
		changed: make(chan struct{}, 1), lost: make(chan error, 1), Inbox: handle.NewInbox(),
		tried: map[netip.AddrPort]bool{}, timeline: newTimeline(),
		card: card{Lock: topic(s.space, o.Name), Priority: o.Priority}, label: newLabel(o),
	}, nil
}

// Acquire implements [locks.Lock].
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	l.warn.Do(func() {
		l.log.Warn("gossip excludes nobody: each part of a network that is cut may have its own leader")
	})
	until, cancel := l.workers.Until(ctx)
	defer cancel()
	token, err := l.campaign(until, try)
	if err == nil {
		err = l.workers.Go(l.watch)
	}
	if err == nil {
		return locks.Grant{Token: token, TTL: l.o.TTL}, nil
	}
	l.advertise(func(c *card) { c.Contends, c.Leads = false, false })
	var held *locks.HeldError
	if !errors.As(err, &held) {
		err = l.fail(ctx, "acquire", err)
	}
	return locks.Grant{}, err
}

// Renew implements [locks.Lock]: we still lead in our own view.
func (l *Lock) Renew(ctx context.Context) error {
	l.mu.Lock()
	leads, final := l.card.Leads, l.final
	l.mu.Unlock()
	switch {
	case final != nil:
		return l.fail(ctx, "renew", final)
	case !leads:
		return locks.ErrNoLease
	}
	return ctx.Err()
}

// Release implements [locks.Lock].
func (l *Lock) Release(context.Context) error {
	l.end(locks.LostError("the lock was released"))
	l.advertise(func(c *card) { c.Contends, c.Leads = false, false })
	return nil
}

// Lost implements [locks.Lock].
func (l *Lock) Lost() <-chan error { return l.lost }

// Close implements [locks.Lock].
func (l *Lock) Close() error {
	l.end(workers.ErrClosed)
	l.workers.End()
	l.mu.Lock()
	n := l.node
	l.node, l.closed = nil, true
	l.mu.Unlock()
	if n != nil {
		n.close()
	}
	l.workers.Wait()
	return nil
}

// end ends the handle, unless it has ended already, or has not contended.
func (l *Lock) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.final == nil && (l.card.Contends || errors.Is(why, workers.ErrClosed)) {
		l.final = why
	}
	workers.Poke(l.changed)
}

func (l *Lock) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.final
}

// member returns our end of the network; nil if we are no member.
func (l *Lock) member() *node {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node
}

func (l *Lock) fail(ctx context.Context, op string, err error) error {
	e := &locks.Error{Op: op, Backend: "gossip", Name: l.o.Name, Err: err}
	return e.Ended(ctx, !errors.Is(err, locks.ErrUnavailable))
}

// Abilities implements [locks.Able].
func (l *Lock) Abilities(context.Context) ([]locks.Ability, error) {
	return known.Gossip.Abilities, nil
}

// Location implements [locks.Located].
func (l *Lock) Location(context.Context) string {
	return "gossip://" + strings.Join(l.settings.seeds, ",")
}

var (
	_ locks.Opener = Open
	_ locks.Lock   = (*Lock)(nil)
)
