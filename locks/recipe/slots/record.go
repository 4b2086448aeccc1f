package slots

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// writes is how often we try to write the record.
const writes = 3

// record writes into the record that the slot is ours, on the condition that the turnstile
// still is. It removes the slots that are free.
func (c *campaign) record(ctx context.Context, v *view) error {
	record := v.record
	for number := range record.Slots {
		if _, held := v.held[number]; !held {
			delete(record.Slots, number)
		}
	}
	if record.Slots == nil {
		record.Slots = map[int]ledger.Slot{}
	}
	record.Slots[c.taken.number] = ledger.Slot{N: c.lock.n, Token: c.taken.grant.Token}
	text, err := record.Encode()
	if err != nil {
		return err
	}
	for range writes {
		if err = c.write(ctx, text); err == nil || errors.Is(err, locks.ErrLost) || errors.Is(err, locks.ErrDenied) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

func (c *campaign) write(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.lock.o.ConnectTimeout)
	defer cancel()
	return c.turnstile.(locks.Recorder).SetRecord(ctx, text) // as required
}
