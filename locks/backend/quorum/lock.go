package quorum

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/candidate"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
	"github.com/leaderrun/leaderrun/locks/kit/handle"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// A Lock is a handle on one lock: a candidate, which never votes. It implements [locks.Lock].
type Lock struct {
	*candidate.Lock
	*handle.Inbox
	settings *settings
	o        locks.Options
	net      wire.Net
	workers  *workers.Workers

	starting sync.Mutex // held while the client begins
	mu       sync.Mutex
	client   *wire.Client // nil: nothing was sent yet
	closed   bool
	label    wire.Label          // ours
	leader   *wire.Label         // of the term that our last campaign has met
	place    int                 // ours, among those who wait
	others   map[string]struct{} // lists of other groups
	echoed   func(votes.Term)    // takes acknowledgements; see echo

	fetched []string // the last requests
	writes  uint64   // of the record
}

// Open returns a handle. It implements [locks.Opener]: it sends nothing.
func Open(_ context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
	return open(u, o, wire.Real{})
}

func open(u *url.URL, o locks.Options, n wire.Net) (*Lock, error) {
	s, err := parse(u, os.Getenv)
	if err != nil {
		return nil, err
	}
	l := &Lock{settings: s, o: o, net: n, workers: workers.New(), label: *wire.NewLabel(o), others: map[string]struct{}{}, Inbox: handle.NewInbox()}
	o.TTL = min(o.TTL, s.group.Longest)
	l.Lock, err = candidate.New(candidate.Config{ID: crand.Text(), Group: s.group, Network: l, Leader: l.met, Turn: l.turn, Foreign: l.foreign, Again: l.again}, o)
	return l, err
}

// begin begins to send and receive, if that has not happened yet. It looks up names.
func (l *Lock) begin(ctx context.Context) (*wire.Client, error) {
	l.starting.Lock()
	defer l.starting.Unlock()
	l.mu.Lock()
	client, closed := l.client, l.closed
	l.mu.Unlock()
	if closed || client != nil {
		if closed {
			return nil, workers.ErrClosed
		}
		return client, nil
	}
	client, err := wire.NewClient(ctx, l.net, wire.NewSealer(l.settings.secrets), l.settings.names, l.heard)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.client, closed = client, l.closed
	l.mu.Unlock()
	if closed {
		client.Close()
		return nil, workers.ErrClosed
	}
	return client, nil
}

// Acquire implements [locks.Lock].
func (l *Lock) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	if l.o.TTL > l.settings.group.Longest { // only who wants a lease is refused
		return locks.Grant{}, l.fail(ctx, "acquire", locks.Usagef("--ttl %v is longer than the longest lease, %v; all hosts and voters must agree on that, in the URL: longest=", l.o.TTL, l.settings.group.Longest))
	}
	client, err := l.begin(ctx)
	if err != nil {
		return locks.Grant{}, l.fail(ctx, "acquire", err)
	}
	g, err := l.Lock.Acquire(ctx, try)
	if errors.Is(err, locks.ErrUnavailable) {
		err = l.explain(client, err)
	}
	return g, err
}

// explain adds to an outage that a host cannot be looked up.
func (l *Lock) explain(client *wire.Client, err error) error {
	for seat, name := range l.settings.names {
		if at, failed := client.At(seat); len(at) == 0 && failed != nil {
			return fmt.Errorf("%w; %s: %v", err, name, failed)
		}
	}
	return err
}

// Close implements [locks.Lock].
func (l *Lock) Close() error {
	err := l.Lock.Close()
	l.workers.End()
	l.mu.Lock()
	client := l.client
	l.client, l.closed = nil, true
	l.mu.Unlock()
	if client != nil {
		client.Close()
	}
	l.workers.Wait()
	return err
}

// Broadcast implements [candidate.Network].
func (l *Lock) Broadcast(m votes.Message) {
	if client, p := l.packet(m); client != nil {
		client.SendAll(p)
	}
}

// Send implements [candidate.Network].
func (l *Lock) Send(seat int, m votes.Message) {
	if client, p := l.packet(m); client != nil {
		client.Send(seat, p)
	}
}

// packet returns a message with what we say about ourselves, and the client to send it; nil: there
// is none.
func (l *Lock) packet(m votes.Message) (*wire.Client, wire.Packet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := wire.Packet{Space: l.settings.space, Vote: m}
	if m.Ask != nil {
		if m.Ask.Round == 1 {
			l.label.Since = time.Now()
			p.List = l.list()
		}
		label := l.label
		p.Label = &label
	}
	return l.client, p
}

func (l *Lock) list() string { return wire.List(l.settings.names, l.settings.group) }

// again looks names up again.
func (l *Lock) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.client != nil {
		l.client.Resolve()
	}
}

// step is how much earlier a candidate asks than the one that comes after it.
const step = 10 * time.Millisecond

// turn returns how long to wait before we ask for a lock that has become free.
func (l *Lock) turn() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.place)*step + rand.N(step/2)
}

// heard takes a packet.
func (l *Lock) heard(p wire.Packet) {
	if p.Space != l.settings.space || p.Vote.Lock != l.o.Name {
		return
	}
	l.mu.Lock()
	if p.Vote.Answer != nil && p.Vote.Answer.Vote == votes.Bound || p.Vote.Withdrawal != nil {
		l.place = p.Place
	}
	if p.Vote.Answer != nil && p.Vote.Answer.Vote == votes.Bound && p.Label != nil {
		l.leader = p.Label
	}
	if p.List != "" && len(l.others) < votes.MaxSeats {
		l.others[p.List] = struct{}{}
	}
	echoed := l.echoed
	l.mu.Unlock()
	if a := p.Vote.Answer; echoed != nil && a != nil && a.Round == 0 {
		echoed(a.Term)
	}
	if p.Request != "" {
		l.fetch(p.Request)
	}
	l.Receive(p.Vote)
}

// met returns what is known about who holds the lock.
func (l *Lock) met() locks.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leader.Status()
}

// foreign says that a majority of the voters belongs to another group.
func (l *Lock) foreign() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("the hosts do not agree on who votes: here it is %s, but for a majority of these voters %s; write the same hosts and longest= everywhere",
		l.list(), strings.Join(slices.Sorted(maps.Keys(l.others)), ", or "))
}

func (l *Lock) fail(ctx context.Context, op string, err error) error {
	e := &locks.Error{Op: op, Backend: "quorum", Name: l.o.Name, Err: err}
	return e.Ended(ctx, !errors.Is(err, locks.ErrUnavailable))
}

// Abilities implements [locks.Able].
func (l *Lock) Abilities(context.Context) ([]locks.Ability, error) {
	return known.Quorum.Abilities, nil
}

// Location implements [locks.Located].
func (l *Lock) Location(context.Context) string {
	at := "quorum://" + strings.Join(l.settings.names, ",")
	if l.settings.space != "" {
		at += "/" + l.settings.space
	}
	return at
}

var (
	_ locks.Opener      = Open
	_ locks.Lock        = (*Lock)(nil)
	_ candidate.Network = (*Lock)(nil)
)
