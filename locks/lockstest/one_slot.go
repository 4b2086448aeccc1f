package lockstest

import (
	"context"
	"net/url"
	"slices"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/slots"
)

// RunOneSlot is Run for locks with one slot over a backend. Such a lock is like any
// other, except for its abilities: a record and a request belong to the slot that is
// held, and nobody else can have them. Tests of a whole store, or of a lock as opposed to
// its slots, are left out.
func RunOneSlot(t *testing.T, c Config) { Run(t, oneSlot(c)) }

func oneSlot(c Config) Config {
	open := slotted(c.Open, 1, nil)
	c.Open = func(ctx context.Context, u *url.URL, o locks.Options) (locks.Lock, error) {
		l, err := open(ctx, u, o)
		if err != nil {
			return nil, err
		}
		return unit{l.(*slots.Lock)}, nil
	}
	c.Abilities = ofUnits(c.Abilities)
	c.HostileRecords, c.HostileAsks, c.HostileEntries, c.Adopts = nil, nil, nil, false
	number := func(f func(testing.TB, *url.URL, string), number int) func(testing.TB, *url.URL, string) {
		if f == nil {
			return nil
		}
		return func(t testing.TB, u *url.URL, name string) { f(t, u, locks.SlotName(name, number)) }
	}
	c.Evict = number(c.Evict, 1)
	if crash := c.Crash; crash != nil {
		c.Crash = func(t testing.TB, u *url.URL, name string, l locks.Lock) { crash(t, u, locks.SlotName(name, 1), l) }
	}
	if crowd := c.Crowd; crowd != nil {
		c.Crowd = func(t testing.TB, u *url.URL, name string, n int) { crowd(t, u, locks.SlotName(name, 0), n) }
	}
	c.Foreign = slices.Clone(c.Foreign)
	for i, put := range c.Foreign {
		c.Foreign[i] = func(t testing.TB, u *url.URL, name string) func() string { return put(t, u, locks.SlotName(name, 1)) }
	}
	c.Hostile = slices.Clone(c.Hostile)
	for i, corrupt := range c.Hostile {
		c.Hostile[i] = number(corrupt, 1)
	}
	return c
}

// A unit is a lock with one slot, without the abilities that it lacks.
type unit struct{ *slots.Lock }

func (u unit) Abilities(ctx context.Context) ([]locks.Ability, error) {
	all, err := u.Lock.Abilities(ctx)
	return slices.DeleteFunc(all, func(a locks.Ability) bool { return a == locks.CanRecord || a == locks.CanAsk }), err
}

func ofUnits(all []locks.Ability) []locks.Ability {
	return slices.DeleteFunc(slices.Clone(all), func(a locks.Ability) bool { return a != locks.CanInspect && a != locks.CanQueue })
}
