package lockstest

import (
	"context"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/slots"
)

// A unit is a lock of one slot, which is a lock like any other, but for two of its
// abilities: a record and a request belong to the slot that is held, and can be
// had by nobody else. So their tests do not apply.
type unit struct{ *slots.Lock }

func (u unit) Abilities(ctx context.Context) ([]locks.Ability, error) {
	all, err := u.Lock.Abilities(ctx)
	return slices.DeleteFunc(all, func(a locks.Ability) bool { return a == locks.CanRecord || a == locks.CanAsk }), err
}

// unitOf makes the Config of a backend one of units over it.
func unitOf(c Config) Config {
	open := c.Open
	c.Open = func(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
		l, err := slots.Open(ctx, 1, func(ctx context.Context, o locks.Options) (locks.Lock, error) { return open(ctx, u, o) }, o)
		if err != nil {
			return nil, err
		}
		return unit{l}, nil
	}
	c.Abilities = []locks.Ability{locks.CanInspect, locks.CanQueue}
	c.HostileRecords, c.HostileAsks = nil, nil
	return c
}

// TestUnit: a lock of one slot passes the suite.
func TestUnit(t *testing.T) {
	m := newMemory("", true)
	c := unitOf(m.config())
	first := func(name string) string { return locks.SlotName(name, 1) }
	evict, crash := c.Evict, c.Crash
	c.Evict = func(t *testing.T, u *url.URL, name string) { evict(t, u, first(name)) }
	c.Crash = func(t *testing.T, u *url.URL, name string, l locks.Lock) { crash(t, u, first(name), l) }
	c.Crowd = func(_ *testing.T, u *url.URL, name string, n int) { m.crowd(key(u, locks.SlotName(name, 0)), n) }
	for i, soil := range c.Hostile {
		c.Hostile[i] = func(t *testing.T, u *url.URL, name string) { soil(t, u, first(name)) }
	}
	Run(t, c)
}

// TestUnitWithoutLeases is the same over locks like flock.
func TestUnitWithoutLeases(t *testing.T) {
	m := newMemory("", false)
	Run(t, unitOf(Config{Open: m.open, URL: m.url, Fair: true}))
}

// slotTTL is long enough for holders to be renewed on a busy machine: several
// are to hold at once, over many steps.
const slotTTL = 2 * time.Second

func TestSlots(t *testing.T) {
	c := newMemory("", true).config()
	c.TTL = slotTTL
	RunSlots(t, c)
}

func TestSlotsWithoutLeases(t *testing.T) {
	m := newMemory("", false)
	RunSlots(t, Config{Open: m.open, URL: m.url, Fair: true})
}

// TestSlotsThatPoll is over a store without queues.
func TestSlotsThatPoll(t *testing.T) {
	m := newMemory("", true)
	m.polls = true
	c := m.config()
	c.TTL, c.Polling, c.Fair, c.Places = slotTTL, 50*time.Millisecond, false, false
	RunSlots(t, c)
}
