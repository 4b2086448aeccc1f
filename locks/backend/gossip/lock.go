package gossip

import (
	"context"
	crand "crypto/rand"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/gossipinfo"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/quorum"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A Lock is a handle on one lock: a member, from its first use on, which may vote. It
// implements [locks.Lock].
type Lock struct {
	id       string // different for each handle
	settings *settings
	o        locks.Options
	log      *slog.Logger
	listen   transport
	votes    *quorum.Lock // nil without expect=
	elder    *elder       // nil with expect=
	term     locks.Lock   // one of the two
	workers  *workers.Workers

	starting sync.Mutex // held while the handle becomes a member
	mu       sync.Mutex
	node     *node            // nil: it is no member yet, or no longer
	beacon   *node            // at a seat, only to be found there; nil: none
	seats    []netip.AddrPort // of this machine
	seeds    []netip.AddrPort
	awaits   bool  // a seat
	label    label // ours
	leader   label // of the term that our last campaign has met
	place    int   // ours, among those who wait
	looks    map[string]func(packet)
	closed   bool

	token    uint64            // of our term; 0: there is none
	writes   uint64            // of the record
	asked    chan []byte       // has room for one
	asks     uint64            // that we have sent
	requests map[string]uint64 // the last one of each asker
	early    *request          // may be for the term that is about to begin
}

// Open returns a handle. It implements [locks.Opener]: it sends nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	return open(u, o, listen)
}

func open(u *url.URL, o locks.Options, listen transport) (*Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	if s.voting() {
		o.TTL = min(o.TTL, s.group.Longest) // the grant says so
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	l := &Lock{
		settings: s, o: o, log: log.With("backend", "gossip"), listen: listen, workers: workers.New(),
		label: *newLabel(o), looks: map[string]func(packet){}, asked: make(chan []byte, 1), requests: map[string]uint64{}, id: crand.Text(),
	}
	if !s.voting() {
		l.elder = newElder(l)
		l.term = l.elder
		return l, nil
	}
	l.votes, err = quorum.New(quorum.Config{ID: l.id, Group: s.group, Network: l, Leader: l.status, Turn: l.turn}, o)
	l.term = l.votes
	return l, err
}

// Acquire implements [locks.Lock]. The first one takes a seat, if one is free.
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	if err := l.join(ctx, true); err != nil {
		return locks.Grant{}, l.fail(ctx, "acquire", err)
	}
	g, err := l.term.Acquire(ctx, try)
	if err == nil {
		l.leads(g.Token)
	}
	return g, err
}

// Renew implements [locks.Lock].
func (l *Lock) Renew(ctx context.Context) error { return l.term.Renew(ctx) }

// Release implements [locks.Lock].
func (l *Lock) Release(ctx context.Context) error {
	l.leads(0)
	return l.term.Release(ctx)
}

// Lost implements [locks.Lock].
func (l *Lock) Lost() <-chan error { return l.term.Lost() }

// Close implements [locks.Lock]. The handle's vote ends with it.
func (l *Lock) Close() error {
	err := l.term.Close()
	l.workers.End()
	l.mu.Lock()
	nodes := []*node{l.node, l.beacon}
	l.node, l.beacon, l.closed = nil, nil, true
	l.mu.Unlock()
	for _, n := range nodes {
		if n != nil {
			n.close()
		}
	}
	l.workers.Wait()
	return err
}

// Broadcast implements [quorum.Network]: a voter passes a withdrawal on to candidates.
func (l *Lock) Broadcast(m votes.Message) {
	l.mu.Lock()
	n, seeds := l.node, l.seeds
	if m.Ask != nil && m.Ask.Round == 1 {
		l.label.Since = time.Now()
	}
	label := l.label
	l.mu.Unlock()
	if n == nil {
		return
	}
	p := packet{From: n.addr, Space: l.settings.space}
	if m.Ask != nil {
		p.Label = &label
	}
	n.ask(seeds, p, &m)
}

// Send implements [quorum.Network]. The message is for one voter, and does no harm to
// others.
func (l *Lock) Send(_ string, m votes.Message) { l.Broadcast(m) }

// step is how much earlier a candidate asks than the one that comes after it.
const step = 25 * time.Millisecond

// turn returns how long to wait before we ask for a lock that has become free.
func (l *Lock) turn() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.place)*step + rand.N(step/2)
}

// heard takes what a node has got.
func (l *Lock) heard(p packet, m *votes.Message) {
	switch {
	case p.Space != l.settings.space:
	case p.Found != nil:
		l.mu.Lock()
		found := l.looks[p.Found.ID]
		l.mu.Unlock()
		if found != nil {
			found(p)
		}
	case p.Request != nil:
		l.receive(*p.Request)
	case m.Lock == l.o.Name && l.votes != nil:
		l.mu.Lock()
		l.place = p.Place
		if p.Label != nil {
			l.leader = *p.Label
		}
		l.mu.Unlock()
		l.votes.Receive(*m)
	}
}

// status returns what is known about who holds the lock.
func (l *Lock) status() locks.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leader.status()
}

func (l *Lock) fail(ctx context.Context, op string, err error) error {
	e := &locks.Error{Op: op, Backend: "gossip", Name: l.o.Name, Err: err}
	return e.Ended(ctx, !errors.Is(err, locks.ErrUnavailable))
}

// Abilities implements [locks.Able].
func (l *Lock) Abilities(context.Context) ([]locks.Ability, error) {
	if l.elder != nil {
		return []locks.Ability{locks.CanInspect, locks.CanAsk, locks.CanProbe}, nil
	}
	return gossipinfo.Info.Abilities, nil
}

var (
	_ locks.Opener   = Open
	_ locks.Lock     = (*Lock)(nil)
	_ quorum.Network = (*Lock)(nil)
)

// Location implements [locks.Located].
func (l *Lock) Location(context.Context) string {
	return "gossip://" + strings.Join(l.settings.seeds, ",")
}
