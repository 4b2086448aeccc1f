package slots

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// width is how many handles on slots may be open at a time.
const width = 8

// A view is what one look at the slots has shown.
type view struct {
	record *ledger.Record
	known  []int               // the slots that may be held, according to the record
	held   map[int]locks.State // by number, without ours
	n      map[int]int         // with which N each of them was taken
	// unknown means that at least one of these N is unknown, and was set to 1.
	unknown bool
}

// least returns the smallest N of a holder, or 0 if there is no holder.
func (v *view) least() int {
	least := 0
	for number := range v.held {
		if n := v.n[number]; least == 0 || n < least {
			least = n
		}
	}
	return least
}

// room reports whether a run with the given N may hold a slot in addition to the holders.
func (v *view) room(n int) bool {
	if least := v.least(); least > 0 {
		n = min(n, least)
	}
	return len(v.held) < n
}

// free returns the lowest number of a free slot.
func (v *view) free() int {
	for number := 1; ; number++ {
		if _, held := v.held[number]; !held {
			return number
		}
	}
}

// numbers returns the numbers of the slots that are held, in order.
func (v *view) numbers() []int { return slices.Sorted(maps.Keys(v.held)) }

// awaited returns the numbers of those slots that we wait for. Slots whose leases seem to have ended
// come first: nobody will release them.
func (v *view) awaited() []int {
	all := v.numbers()
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Compare(max(-1, min(0, v.held[a].Left)), max(-1, min(0, v.held[b].Left)))
	})
	return all[:min(len(all), width)]
}

// firstHolder returns the holder of the first slot that is held. It prefers one whose lease may
// have ended, for which it is worth to watch the slot.
func (v *view) firstHolder() locks.Status {
	first := locks.Status{Held: true}
	for i, number := range v.numbers() {
		if s := v.held[number].Status; i == 0 || s.Confirm > 0 && first.Confirm == 0 {
			first = s
		}
	}
	return first
}

// ended returns the lowest number of a slot whose lease has ended, except for those that proved
// to be held; 0: there is none.
func (v *view) ended(except map[int]bool) int {
	for _, number := range v.numbers() {
		if v.held[number].Over() && !except[number] {
			return number
		}
	}
	return 0
}

// look returns who else holds slots. We have the turnstile, so nobody else takes slots or
// writes the record meanwhile.
func (c *campaign) look(ctx context.Context) (*view, error) {
	v, err := c.lock.read(ctx, c.turnstile)
	if err != nil {
		return nil, err
	}
	wanted := maps.Clone(c.unrecorded)
	for _, number := range v.known {
		wanted[number] = true
	}
	if c.taken != nil {
		delete(wanted, c.taken.number)
	}
	if err := c.lock.inspect(ctx, v, slices.Sorted(maps.Keys(wanted))); err != nil {
		return nil, err
	}
	// A slot may be refused although nobody has it, during a lock delay for instance. The last one to
	// run with it is the one in the record: whoever takes a slot runs only once it has written that.
	for number, status := range c.refused {
		if _, held := v.held[number]; !held {
			status.Token = cmp.Or(status.Token, v.record.Slots[number].Token)
			v.held[number] = locks.State{Status: status}
		}
	}
	for number, state := range v.held {
		said, ok := v.record.Slots[number]
		v.n[number] = 1
		if ok && said.Token == state.Token && said.N > 0 {
			v.n[number] = said.N
			continue
		}
		v.unknown = true
		c.lock.once("unknown", func() {
			c.lock.log.Warn("a slot is held but not recorded; waiting for it", "slot", number, "leader", locks.Printable(state.Holder))
		})
	}
	return v, nil
}

// glance returns who holds slots, without the turnstile: the record may change meanwhile. No
// grant depends on it.
func (l *Lock) glance(ctx context.Context, turnstile locks.Lock) (*view, error) {
	v, err := l.read(ctx, turnstile)
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

// read reads the record. If it is invalid, read treats it as empty: then nothing is known
// about the slots' holders.
func (l *Lock) read(ctx context.Context, turnstile locks.Lock) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	v := &view{held: map[int]locks.State{}, n: map[int]int{}}
	text, err := turnstile.(locks.Recorder).Record(ctx) // as required
	if err != nil {
		return nil, err
	}
	if v.record, err = ledger.Read(text); err != nil {
		l.once("record", func() {
			l.log.Warn("the record of the slots is invalid; waiting until all slots are free", "err", err)
		})
		v.record, v.known = new(ledger.Record), upTo(locks.MaxSlot)
		return v, nil
	}
	delete(v.record.Slots, 0) // that would be the turnstile
	v.known = slices.Sorted(maps.Keys(v.record.Slots))
	if len(text) == 0 { // nobody has written it yet, or somebody has deleted it
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

// inspect finds out which of the numbered slots are held.
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
