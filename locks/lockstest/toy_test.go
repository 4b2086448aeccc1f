package lockstest

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// defects are what is wrong with a toy: nothing, if they are zero.
type defects struct {
	twoHolders   bool // in the first seconds everybody is granted the lock
	fallingToken bool // each token is lower than the one before
	lateRenewal  bool // Renew succeeds whoever has the lock
	lateRecord   bool // and so does SetRecord
	panics       bool // Release panics

	// asleep is how long a contender gets no processor after each third grant, in leases.
	asleep int
}

// A toy is a store of locks in memory.
type toy struct {
	defects
	mu     sync.Mutex
	opened time.Time
	cells  map[string]*cell
}

// A cell is the state of one lock.
type cell struct {
	holder *toyLock
	until  clock.Instant
	token  uint64
	grants int
	record []byte
}

// A toyLock is a handle.
type toyLock struct {
	*toy
	o     locks.Options
	lease bool
}

// config returns the Config of a new toy. Its leases, if it has any, are a fifth of a second.
func (d defects) config(leases bool) Config {
	s := &toy{defects: d, opened: time.Now(), cells: map[string]*cell{}}
	c := Config{
		Open: func(_ context.Context, _ *url.URL, o locks.Options) (locks.Lock, error) {
			return &toyLock{s, o, leases}, nil
		},
		URL:       func(testing.TB) *url.URL { return &url.URL{Scheme: "toy"} },
		Polling:   5 * time.Millisecond,
		Abilities: []locks.Ability{locks.CanInspect, locks.CanRecord},
	}
	if leases {
		c.TTL = time.Second / 5
	}
	return c
}

// cell returns the state of the lock. The caller holds mu.
func (l *toyLock) cell() *cell {
	c := l.cells[l.o.Name]
	if c == nil {
		c = &cell{token: 1 << 32}
		l.cells[l.o.Name] = c
	}
	if c.holder != nil && (clock.Boot{}).Now() >= c.until {
		c.holder = nil
	}
	return c
}

func (l *toyLock) Acquire(ctx context.Context, _ bool) (locks.Grant, error) {
	g, n, err := l.take()
	if err == nil && l.asleep > 0 && n%3 == 0 {
		time.Sleep(time.Duration(l.asleep) * l.o.TTL)
	}
	if err != nil && l.o.Waiting != nil {
		l.o.Waiting(locks.Waiting{})
	}
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("%w (%w)", ctx.Err(), err)
	}
	return g, err
}

// take is Acquire at the server. It also returns how many grants there have been.
func (l *toyLock) take() (locks.Grant, int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.cell()
	if c.holder != nil && !(l.twoHolders && time.Since(l.opened) < 2*time.Second) {
		return locks.Grant{}, 0, &locks.HeldError{Status: locks.Status{Held: true, Holder: c.holder.o.Holder}}
	}
	c.token++
	if l.fallingToken {
		c.token -= 2
	}
	c.grants++
	c.holder, c.until = l, clock.Never
	g := locks.Grant{Token: c.token}
	if l.lease {
		c.until, g.TTL = (clock.Boot{}).Now().Add(l.o.TTL), l.o.TTL
	}
	return g, c.grants, nil
}

func (l *toyLock) Renew(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch c := l.cell(); {
	case l.lateRenewal:
		return nil
	case !l.lease:
		return locks.ErrNoLease
	case c.holder != l:
		return locks.ErrLost
	default:
		c.until = (clock.Boot{}).Now().Add(l.o.TTL)
		return nil
	}
}

func (l *toyLock) Release(context.Context) error {
	if l.panics {
		panic("the toy is broken")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.cell(); c.holder == l {
		c.holder = nil
	}
	return nil
}

func (l *toyLock) Lost() <-chan error { return nil }
func (l *toyLock) Close() error       { return nil }

func (l *toyLock) Abilities(context.Context) ([]locks.Ability, error) {
	return []locks.Ability{locks.CanInspect, locks.CanRecord}, nil
}

func (l *toyLock) Inspect(context.Context) (locks.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.cell(); c.holder != nil {
		return locks.State{Status: locks.Status{Held: true, Holder: c.holder.o.Holder, RunID: c.holder.o.RunID, Token: c.token}}, nil
	}
	return locks.State{}, nil
}

func (l *toyLock) Record(context.Context) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cell().record, nil
}

func (l *toyLock) SetRecord(_ context.Context, text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.cell()
	if c.holder != l && !l.lateRecord {
		return locks.ErrLost
	}
	c.record = text
	return nil
}
