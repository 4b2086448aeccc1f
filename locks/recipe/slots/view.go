package slots

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// width is how many handles on slots are open at a time.
const width = 8

// A view is what one look has shown.
type view struct {
	record *ledger.Record
	known  []int               // the slots that may be held, as far as the record says
	held   map[int]locks.State // by number, but for ours
	n      map[int]int         // with which N each was taken
	// unknown: of one of them we do not know that, and it is set to 1.
	unknown bool
}

// least is the smallest N of a holder, or 0 if there is no holder.
func (v *view) least() int {
	least := 0
	for number := range v.held {
		if n := v.n[number]; least == 0 || n < least {
			least = n
		}
	}
	return least
}

// room reports whether one with the given N may hold a slot beside the others.
func (v *view) room(n int) bool {
	if least := v.least(); least > 0 {
		n = min(n, least)
	}
	return len(v.held) < n
}

// free is the lowest number of a slot that is free.
func (v *view) free() int {
	for number := 1; ; number++ {
		if _, held := v.held[number]; !held {
			return number
		}
	}
}

// numbers are those of the slots that are held, in order.
func (v *view) numbers() []int { return slices.Sorted(maps.Keys(v.held)) }

// sought are those of them that are waited for.
func (v *view) sought() []int {
	all := v.numbers()
	return all[:min(len(all), width)]
}

// somebody is one of the holders.
func (v *view) somebody() locks.Status {
	if len(v.held) == 0 {
		return locks.Status{Held: true}
	}
	return v.held[v.numbers()[0]].Status
}

// look sees who holds slots, but for the one of the given number. It is for who
// has the turnstile: then nobody else takes slots and writes the record.
func (c *campaign) look(ctx context.Context, gate locks.Lock, mine int) (*view, error) {
	v, err := c.read(ctx, gate)
	if err != nil {
		return nil, err
	}
	wanted := maps.Clone(c.squatted)
	for _, number := range v.known {
		wanted[number] = true
	}
	delete(wanted, mine)
	if err := c.inspect(ctx, v, slices.Sorted(maps.Keys(wanted))); err != nil {
		return nil, err
	}
	for number, state := range v.held {
		said, ok := v.record.Slots[number]
		v.n[number] = 1
		if ok && said.Token == state.Token && said.N > 0 {
			v.n[number] = said.N
			continue
		}
		v.unknown = true
		c.once("unknown", func() {
			c.log.Warn("a slot is held by somebody who is not in the record; waiting for it", "slot", number, "leader", locks.Printable(state.Holder))
		})
	}
	return v, nil
}

// glance is a look by somebody who does not have the turnstile, at a record that
// may change meanwhile. Nothing depends on it.
func (l *Lock) glance(ctx context.Context, gate locks.Lock) (*view, error) {
	v, err := l.read(ctx, gate)
	if err != nil {
		return nil, err
	}
	if err := l.inspect(ctx, v, v.known); err != nil {
		return nil, err
	}
	for number := range v.held {
		v.n[number] = locks.MaxSlot
		if said := v.record.Slots[number]; said.N > 0 {
			v.n[number] = said.N
		}
	}
	return v, nil
}

// read reads the record. One that makes no sense is none: then nothing is known
// of the slots' holders.
func (l *Lock) read(ctx context.Context, gate locks.Lock) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	v := &view{held: map[int]locks.State{}, n: map[int]int{}}
	text, err := gate.(locks.Recorder).Record(ctx) // as required
	if err != nil {
		return nil, err
	}
	if v.record, err = ledger.Read(text); err != nil {
		l.once("record", func() {
			l.log.Warn("the record of the slots makes no sense; waiting until all of them are free", "err", err)
		})
		v.record, v.known = new(ledger.Record), upTo(locks.MaxSlot)
		return v, nil
	}
	delete(v.record.Slots, 0) // that would be the turnstile
	v.known = slices.Sorted(maps.Keys(v.record.Slots))
	if len(text) == 0 { // the first of all, or somebody has deleted it
		v.known = upTo(l.n)
	}
	return v, nil
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// inspect finds out which of the slots are held.
func (l *Lock) inspect(ctx context.Context, v *view, numbers []int) error {
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	places := make(chan struct{}, width)
	for _, number := range numbers {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			state, err := l.inspectOne(ctx, number)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
			}
			if state.Held {
				v.held[number] = state
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (l *Lock) inspectOne(ctx context.Context, number int) (locks.State, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	h, err := l.handle(ctx, number, nil)
	if err != nil {
		return locks.State{}, err
	}
	defer func() { _ = h.Close() }() // it holds nothing
	i, ok := h.(locks.Inspector)
	if !ok {
		return locks.State{}, locks.Require(ctx, h, "--slots", locks.CanInspect)
	}
	return i.Inspect(ctx)
}
