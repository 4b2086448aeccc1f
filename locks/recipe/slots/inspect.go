package slots

import (
	"context"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// visitTurnstile opens another handle on the turnstile, to ask it something, and returns a
// function that closes it.
func (l *Lock) visitTurnstile(ctx context.Context) (locks.Lock, func(), error) {
	h, err := l.handle(ctx, 0, nil)
	if err != nil {
		return nil, nil, err
	}
	return h, func() { _ = h.Close() }, nil // it holds nothing
}

// Inspect implements [locks.Inspector]. It reports our slot, or if we have none, the first
// that is held, with everybody who waits for any slot.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	turnstile, done, err := l.visitTurnstile(ctx)
	if err != nil {
		return locks.State{}, err
	}
	defer done()
	if err := locks.Require(ctx, turnstile, "--slots", locks.CanInspect, locks.CanRecord); err != nil {
		return locks.State{}, err
	}
	state, err := l.inspectSlot(ctx, turnstile)
	if err != nil || !state.Held {
		return state, err
	}
	if len(state.Queue) > 1 {
		state.Queue = state.Queue[:1] // a slot has one contender
	}
	outside, err := turnstile.(locks.Inspector).Inspect(ctx)
	if err != nil {
		return locks.State{}, err
	}
	return l.join(ctx, state, outside, turnstile)
}

// inspectSlot is Inspect without the queue of the turnstile.
func (l *Lock) inspectSlot(ctx context.Context, turnstile locks.Lock) (locks.State, error) {
	l.mu.Lock()
	slot, closed := l.slot, l.closed
	l.mu.Unlock()
	switch {
	case closed:
		return locks.State{}, errClosed
	case slot != nil:
		return slot.(locks.Inspector).Inspect(ctx) // as required
	}
	v, err := l.glance(ctx, turnstile)
	if err != nil || len(v.held) == 0 {
		return locks.State{}, err
	}
	return v.held[v.numbers()[0]], nil
}

// join appends the turnstile's holder and queue to the queue of a slot.
func (l *Lock) join(ctx context.Context, state, outside locks.State, turnstile locks.Lock) (locks.State, error) {
	can, err := turnstile.(locks.Able).Abilities(ctx) // as required
	if err != nil || !outside.Held {
		state.Waiters = len(state.Queue)
		return state, err
	}
	state.Waiters = 1 + outside.Waiters
	if !slices.Contains(can, locks.CanQueue) {
		return state, nil
	}
	if len(state.Queue) == 0 && outside.RunID != state.RunID { // it waits for another slot
		state.Queue = []locks.Place{{Holder: outside.Holder, RunID: outside.RunID, Since: outside.Since}}
	}
	state.Queue = append(state.Queue, outside.Queue...)
	state.Queue = state.Queue[:min(len(state.Queue), locks.MaxQueue)]
	return state, nil
}

var _ locks.Inspector = (*Lock)(nil)
