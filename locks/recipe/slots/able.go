package slots

import (
	"cmp"
	"context"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// Abilities implements [locks.Able]: they are those of the backend that make sense
// for slots. A record and a request are the slot's, and so only for who holds one.
// What concerns a whole store, such as a list, or one term, such as to break it, is
// for the locks that the slots are.
func (l *Lock) Abilities(ctx context.Context) ([]locks.Ability, error) {
	h, done, err := l.any(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	a, ok := h.(locks.Able)
	if !ok {
		return nil, nil
	}
	has, err := a.Abilities(ctx)
	if err != nil {
		return nil, err
	}
	passedOn := []locks.Ability{locks.CanInspect, locks.CanQueue, locks.CanRecord, locks.CanAsk}
	return slices.DeleteFunc(slices.Clone(has), func(a locks.Ability) bool { return !slices.Contains(passedOn, a) }), nil
}

// any returns a handle that can be asked things, and what to call then.
func (l *Lock) any(ctx context.Context) (locks.Lock, func(), error) {
	l.mu.Lock()
	h, closed := cmp.Or(l.slot, l.gate), l.closed
	l.mu.Unlock()
	switch {
	case closed:
		return nil, nil, errClosed
	case h != nil:
		return h, func() {}, nil
	}
	return l.visit(ctx)
}

// visit opens the turnstile to ask it something.
func (l *Lock) visit(ctx context.Context) (locks.Lock, func(), error) {
	h, err := l.handle(ctx, 0, nil)
	if err != nil {
		return nil, nil, err
	}
	return h, func() { _ = h.Close() }, nil // it holds nothing
}

// Inspect implements [locks.Inspector]. It tells of our slot, or else of the first
// that is held, and of all that wait for any.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	gate, done, err := l.visit(ctx)
	if err != nil {
		return locks.State{}, err
	}
	defer done()
	if err := locks.Require(ctx, gate, "--slots", locks.CanInspect, locks.CanRecord); err != nil {
		return locks.State{}, err
	}
	state, err := l.inspectSlot(ctx, gate)
	if err != nil || !state.Held {
		return state, err
	}
	if len(state.Queue) > 1 {
		state.Queue = state.Queue[:1] // a slot has one contender
	}
	outside, err := gate.(locks.Inspector).Inspect(ctx)
	if err != nil {
		return locks.State{}, err
	}
	return l.join(ctx, state, outside, gate)
}

// inspectSlot is Inspect without those who wait at the turnstile.
func (l *Lock) inspectSlot(ctx context.Context, gate locks.Lock) (locks.State, error) {
	l.mu.Lock()
	slot, closed := l.slot, l.closed
	l.mu.Unlock()
	switch {
	case closed:
		return locks.State{}, errClosed
	case slot != nil:
		return slot.(locks.Inspector).Inspect(ctx) // as required
	}
	v, err := l.glance(ctx, gate)
	if err != nil || len(v.held) == 0 {
		return locks.State{}, err
	}
	return v.held[v.numbers()[0]], nil
}

// join makes one queue of that of a slot and that of the turnstile.
func (l *Lock) join(ctx context.Context, state, outside locks.State, gate locks.Lock) (locks.State, error) {
	can, err := gate.(locks.Able).Abilities(ctx) // as required
	if err != nil || !outside.Held {
		state.Waiters = len(state.Queue)
		return state, err
	}
	state.Waiters = 1 + outside.Waiters
	if !slices.Contains(can, locks.CanQueue) {
		return state, nil
	}
	if len(state.Queue) == 0 && outside.RunID != state.RunID { // who waits for another slot
		state.Queue = []locks.Place{{Holder: outside.Holder, RunID: outside.RunID, Since: outside.Since}}
	}
	state.Queue = append(state.Queue, outside.Queue...)
	state.Queue = state.Queue[:min(len(state.Queue), locks.MaxQueue)]
	return state, nil
}

// Record implements [locks.Recorder], for the slot that we hold.
func (l *Lock) Record(ctx context.Context) ([]byte, error) {
	r, ok := l.held().(locks.Recorder)
	if !ok {
		return nil, errNoSlot
	}
	return r.Record(ctx)
}

// SetRecord implements [locks.Recorder], for the slot that we hold.
func (l *Lock) SetRecord(ctx context.Context, text []byte) error {
	r, ok := l.held().(locks.Recorder)
	if !ok {
		return errNoSlot
	}
	return r.SetRecord(ctx, text)
}

// Ask implements [locks.Asker], for the slot that we hold.
func (l *Lock) Ask(ctx context.Context, token uint64, text []byte) error {
	a, ok := l.held().(locks.Asker)
	if !ok {
		return errNoSlot
	}
	return a.Ask(ctx, token, text)
}

// Asked implements [locks.Asker]: it delivers what the holder of our slot is asked.
func (l *Lock) Asked() <-chan []byte {
	if a, ok := l.held().(locks.Asker); ok {
		return a.Asked()
	}
	return nil
}

var errNoSlot = &locks.UsageError{What: "a record and a request belong to one slot, and none is held"}

var (
	_ locks.Able      = (*Lock)(nil)
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Recorder  = (*Lock)(nil)
	_ locks.Asker     = (*Lock)(nil)
)
