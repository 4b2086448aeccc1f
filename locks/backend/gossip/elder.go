package gossip

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// An elder is a contender for a lock without votes: among the members that contend for it,
// the oldest leads, or the one with the greatest priority. All members in one view decide
// alike, so nobody is elected. Two views may have two leaders: it excludes nobody.
//
// A member publishes one number by which all compare its age: the moment since which it has
// contended, on the timeline of the fleet. Ages that each receiver estimates would differ,
// and so would their decisions. The timeline is that of the first member's boot clock. A
// member that is alone has its own, and takes that of the first fleet that it meets; of two
// that are alone, the younger does.
type elder struct {
	l       *Lock
	changed chan struct{}
	lost    chan error
	warn    sync.Once

	greeting sync.Mutex // held while it greets
	settled  bool

	mu      sync.Mutex
	name    string
	started clock.Instant
	offset  time.Duration // the fleet's time, less ours
	alone   bool          // the timeline is ours
	tried   map[netip.AddrPort]bool
	card    card // what is published
	final   error
	leader  string
}

// A card is the metadata of a member. It fits into 512 bytes.
type card struct {
	Lock     string `json:"lock"`  // its topic
	Since    int64  `json:"since"` // in milliseconds on the fleet's timeline
	Priority int    `json:"priority,omitempty"`
	Contends bool   `json:"contends,omitempty"`
	Leads    bool   `json:"leads,omitempty"`
	Token    uint64 `json:"token,omitempty"` // the greatest that it knows
	Label    *label `json:"label,omitempty"`
}

// A clockCard is what members tell each other about time.
type clockCard struct {
	Now   int64         `json:"now"` // the fleet's, in milliseconds
	Age   time.Duration `json:"age_ns"`
	Alone bool          `json:"alone"`
	Name  string        `json:"name"`
}

const (
	// settling is how long a view must be the same before anybody acts on it: a member that
	// has just joined may still take the timeline of the others.
	settling = time.Second
	// advertising bounds the time in which a change reaches another member.
	advertising = 500 * time.Millisecond
	maxCard     = memberlist.MetaMaxSize
)

func newElder(l *Lock) *elder {
	return &elder{
		l: l, changed: make(chan struct{}, 1), lost: make(chan error, 1), started: clock.Boot{}.Now(), alone: true,
		tried: map[netip.AddrPort]bool{}, card: card{Lock: topic(l.settings.space, l.o.Name), Priority: l.o.Priority},
	}
}

// topic returns a short name for a lock.
func topic(space, lock string) string {
	sum := sha256.Sum256([]byte(space + "\n" + lock))
	return hex.EncodeToString(sum[:12])
}

// Acquire implements [locks.Lock].
func (e *elder) Acquire(ctx context.Context, try bool) (locks.Grant, error) {
	e.warn.Do(func() {
		e.l.log.Warn("without expect=N this lock excludes nobody: each part of a network that is cut may have its own leader")
	})
	ctx2, cancel := e.l.workers.Until(ctx)
	defer cancel()
	token, err := e.campaign(ctx2, try)
	if err != nil {
		e.advertise(func(c *card) { c.Contends, c.Leads = false, false })
		var held *locks.HeldError
		if !errors.As(err, &held) {
			err = e.l.fail(ctx, "acquire", err)
		}
		return locks.Grant{}, err
	}
	return locks.Grant{Token: token, TTL: e.l.o.TTL}, e.l.workers.Go(e.watch)
}

// campaign waits until we are the first of all contenders, and nobody else leads.
func (e *elder) campaign(ctx context.Context, try bool) (uint64, error) {
	if err := e.greet(ctx); err != nil {
		return 0, err
	}
	if v := e.view(); try && v.led(e.name) { // who contends may end the term of another
		return 0, &locks.HeldError{Status: v.status()}
	}
	label := e.l.label
	label.Since = time.Now()
	e.advertise(func(c *card) { c.Contends, c.Label = true, &label })
	began := time.Now()
	for {
		v := e.view()
		switch first := v.first(); {
		case e.ended() != nil:
			return 0, e.ended()
		case first != nil && first.name == e.name && len(v.all) >= e.l.settings.least && !v.led(e.name):
			label.Since = time.Now()
			token := v.token() + 1
			e.advertise(func(c *card) { c.Leads, c.Token, c.Label = true, token, &label })
			return token, nil
		case try && time.Since(began) > settling && len(v.all) < e.l.settings.least:
			return 0, fmt.Errorf("%w: %d members are in sight, and min=%d", locks.ErrUnavailable, len(v.all), e.l.settings.least)
		case try && first != nil && time.Since(began) > settling:
			return 0, &locks.HeldError{Status: v.status()}
		default:
			e.report(v, try)
		}
		if err := e.pause(ctx); err != nil {
			return 0, e.inSight(v, err)
		}
	}
}

// inSight returns the error of a campaign whose context has ended: what we see is what there is.
func (e *elder) inSight(v ranking, err error) error {
	switch least := e.l.settings.least; {
	case len(v.all) < least:
		return fmt.Errorf("%w: %d members are in sight, and min=%d", locks.ErrUnavailable, len(v.all), least)
	case v.led(e.name):
		return fmt.Errorf("%w (%w)", err, &locks.HeldError{Status: v.status()})
	}
	return err
}

// greet waits, once, until each seed has answered or has been tried, and then for the view
// to settle.
func (e *elder) greet(ctx context.Context) error {
	e.greeting.Lock()
	defer e.greeting.Unlock()
	if e.settled {
		return nil
	}
	late := time.Now().Add(e.l.o.ConnectTimeout / 2)
	for !e.greeted() && time.Now().Before(late) {
		if err := e.pause(ctx); err != nil {
			return err
		}
	}
	timer := time.NewTimer(settling / 2)
	defer timer.Stop()
	select {
	case <-timer.C:
		e.settled = true
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (e *elder) greeted() bool {
	e.l.mu.Lock()
	n, seeds := e.l.node, e.l.seeds
	e.l.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	return n != nil && !slices.ContainsFunc(seeds, func(seed netip.AddrPort) bool { return seed != n.addr && !e.tried[seed] })
}

// pause waits for a change, and at most for a moment, because a view changes by time as
// well.
func (e *elder) pause(ctx context.Context) error {
	timer := time.NewTimer(settling / 4)
	defer timer.Stop()
	select {
	case <-e.changed:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// report calls Waiting when the leader changes.
func (e *elder) report(v ranking, try bool) {
	leads := v.leads()
	if e.l.o.Waiting == nil || try || len(leads) == 0 || leads[0].name == e.leader {
		return
	}
	e.leader = leads[0].name
	e.l.o.Waiting(locks.Waiting{Status: v.leader()})
}

// watch reports a loss, if the view in which we do not lead has settled.
func (e *elder) watch(ctx context.Context) {
	var wrong time.Time
	for e.pause(ctx) == nil && e.ended() == nil {
		why := e.trouble()
		switch {
		case why == nil:
			wrong = time.Time{}
		case wrong.IsZero():
			wrong = time.Now()
		case time.Since(wrong) >= settling:
			e.end(why)
			e.lost <- why
		}
	}
}

// trouble returns why we must not lead in the present view, or nil.
func (e *elder) trouble() error {
	v := e.view()
	switch first := v.first(); {
	case len(v.all) < e.l.settings.least:
		return locks.LostError(fmt.Sprintf("%d members are in sight, and min=%d", len(v.all), e.l.settings.least))
	case first == nil || first.name != e.name:
		return locks.LostError("another member comes before us")
	}
	return nil
}

// Renew implements [locks.Lock]: we still lead in our own view.
func (e *elder) Renew(ctx context.Context) error {
	e.mu.Lock()
	leads, final := e.card.Leads, e.final
	e.mu.Unlock()
	switch {
	case final != nil:
		return e.l.fail(ctx, "renew", final)
	case !leads:
		return locks.ErrNoLease
	}
	return ctx.Err()
}

// Release implements [locks.Lock].
func (e *elder) Release(context.Context) error {
	e.end(locks.LostError("the lock was released"))
	e.advertise(func(c *card) { c.Contends, c.Leads = false, false })
	return nil
}

// Lost implements [locks.Lock].
func (e *elder) Lost() <-chan error { return e.lost }

// Close implements [locks.Lock].
func (e *elder) Close() error {
	e.end(workers.ErrClosed)
	return nil
}

// end ends the handle, unless it has ended already, or nobody has contended.
func (e *elder) end(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.final == nil && (e.card.Contends || errors.Is(why, workers.ErrClosed)) {
		e.final = why
	}
	workers.Poke(e.changed)
}

func (e *elder) ended() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.final
}

// advertise changes what we publish, and waits until another member may know it.
func (e *elder) advertise(change func(*card)) {
	e.l.mu.Lock()
	n := e.l.node
	e.l.mu.Unlock()
	e.mu.Lock()
	change(&e.card)
	e.mu.Unlock()
	if n != nil {
		_ = n.list.UpdateNode(advertising) // it is repeated by push and pull
	}
}

// publish returns the metadata.
func (e *elder) publish() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.card
	if c.Label != nil {
		short := *c.Label
		c.Label = &short
	}
	c.Since = (e.offset + time.Duration(e.started)).Milliseconds()
	b, _ := json.Marshal(c)                  // it cannot fail
	for c.Label != nil && len(b) > maxCard { // escapes can be long
		c.Label = &label{Since: c.Label.Since, TTL: c.Label.TTL}
		if b, _ = json.Marshal(c); len(b) > maxCard {
			c.Label = nil
			b, _ = json.Marshal(c)
		}
	}
	return b
}

// time returns what others learn about time.
func (e *elder) time() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := clock.Boot{}.Now()
	b, _ := json.Marshal(clockCard{(e.offset + time.Duration(now)).Milliseconds(), now.Sub(e.started), e.alone, e.name}) // it cannot fail
	return b
}

// now returns the present moment on the fleet's timeline, in milliseconds.
func (e *elder) now() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return (e.offset + time.Duration(clock.Boot{}.Now())).Milliseconds()
}

// learn takes the timeline of another member, if ours is only our own.
func (e *elder) learn(b []byte) {
	var c clockCard
	if len(b) > maxCard || json.Unmarshal(b, &c) != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := clock.Boot{}.Now()
	age := now.Sub(e.started)
	if older := cmp.Or(cmp.Compare(age, c.Age), -cmp.Compare(e.name, c.Name)) > 0; e.alone && !(c.Alone && older) {
		e.offset = time.Duration(c.Now)*time.Millisecond - time.Duration(now)
		go e.advertise(func(*card) {})
	}
	e.alone = false
	workers.Poke(e.changed)
}

func (e *elder) named(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.name = name
}

// met notes that a seed has answered, or has not.
func (e *elder) met(seed netip.AddrPort) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tried[seed] = true
	workers.Poke(e.changed)
}

var _ locks.Lock = (*elder)(nil)
