package slots

import (
	"cmp"
	"context"
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// Abilities implements [locks.Able]. They are those abilities of the backend that make sense
// for slots. A record and requests belong to one slot, so only its holder can use them. What
// concerns a whole store (such as a list) or one term (such as to break it) belongs to the
// locks of which the slots are made.
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

// any returns one of our handles, or a new one, and a function to call afterwards.
func (l *Lock) any(ctx context.Context) (locks.Lock, func(), error) {
	l.mu.Lock()
	h, closed := cmp.Or(l.slot, l.turnstile), l.closed
	l.mu.Unlock()
	switch {
	case closed:
		return nil, nil, errClosed
	case h != nil:
		return h, func() {}, nil
	}
	return l.visitTurnstile(ctx)
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

// Asked implements [locks.Asker]. It delivers the requests to the holder of our slot.
func (l *Lock) Asked() <-chan []byte {
	if a, ok := l.held().(locks.Asker); ok {
		return a.Asked()
	}
	return nil
}

var errNoSlot = &locks.UsageError{What: "a record and requests belong to one slot, and none is held"}

var (
	_ locks.Able     = (*Lock)(nil)
	_ locks.Recorder = (*Lock)(nil)
	_ locks.Asker    = (*Lock)(nil)
)
