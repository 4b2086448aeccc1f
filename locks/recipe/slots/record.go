package slots

import (
	"context"
	"errors"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// writes is how often a record is tried to be written.
const writes = 3

// record has the record say that the slot is ours, as long as the turnstile is.
// Slots that are free are left out from then on.
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
	record.Slots[c.number] = ledger.Slot{N: c.n, Token: c.grant.Token}
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
	ctx, cancel := context.WithTimeout(ctx, c.o.ConnectTimeout)
	defer cancel()
	return c.gate.(locks.Recorder).SetRecord(ctx, text) // as required
}
