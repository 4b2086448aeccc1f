package operate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/slots"
)

// demandSlots asks the holders of all slots of a lock that is free without slots,
// and says what came of it, a line each.
func (r *resignation) demandSlots(ctx context.Context) (string, error) {
	numbers, err := r.slotsHeld(ctx)
	if err != nil {
		return "", err
	}
	if len(numbers) == 0 {
		return nobody(r.Lock), nil
	}
	said, errs := make([]string, len(numbers)), make([]error, len(numbers))
	var all sync.WaitGroup
	for i, number := range numbers {
		all.Go(func() { said[i], errs[i] = r.demandSlot(ctx, number) })
	}
	all.Wait()
	said = slices.DeleteFunc(said, func(line string) bool { return line == "" })
	return strings.Join(said, "\n"), errors.Join(errs...)
}

// slotsHeld are the numbers of the slots that are held.
func (r *resignation) slotsHeld(ctx context.Context) ([]int, error) {
	if _, number := locks.CutSlot(r.Lock); number >= 0 {
		return nil, nil
	}
	if err := locks.Require(ctx, r.handle, "--slots", locks.CanRecord); err != nil {
		return nil, nil // so there are none
	}
	backend, err := locks.Parse(r.Backend)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context, o locks.Options) (locks.Lock, error) {
		return r.Registry.Open(ctx, backend, o)
	}
	ctx, cancel := context.WithTimeout(ctx, r.ConnectTimeout.D)
	defer cancel()
	l, err := slots.Open(ctx, 1, open, r.asking(r.Lock))
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }() // it holds nothing
	holders, err := l.Holders(ctx)
	return slices.Sorted(maps.Keys(holders)), err
}

// demandSlot asks the holder of one slot.
func (r *resignation) demandSlot(ctx context.Context, number int) (string, error) {
	lock := locks.SlotName(r.Lock, number)
	one, err := r.of(lock).resignation(r.command, r.reason)
	if err != nil {
		return "", err
	}
	defer one.close()
	said, err := one.demand(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("slot %d: %w", number, err)
	case said == "":
		said = nobody(lock)
	}
	return said, nil
}

func nobody(lock string) string {
	return fmt.Sprintf("lock %q is free: there is no holder to ask", lock)
}
