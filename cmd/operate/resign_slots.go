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

// demandSlots asks the holders of all slots, if the lock itself is free. It returns a line
// about the outcome of each.
func (r *resignation) demandSlots(ctx context.Context) (string, error) {
	numbers, err := r.slotsHeld(ctx)
	if err != nil {
		return "", err
	}
	if len(numbers) == 0 {
		return noHolder(r.opt.Lock), nil
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

// slotsHeld returns the numbers of the slots that are held.
func (r *resignation) slotsHeld(ctx context.Context) ([]int, error) {
	if _, number := locks.CutSlot(r.opt.Lock); number >= 0 {
		return nil, nil
	}
	if err := locks.Require(ctx, r.Handle, "--slots", locks.CanRecord); err != nil {
		return nil, nil // without records there are no slots
	}
	open := func(ctx context.Context, o locks.Options) (locks.Lock, error) {
		return r.env.Registry.Open(ctx, r.backend, o)
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	l, err := slots.Open(ctx, 1, open, r.options(r.opt.Lock))
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }() // it holds nothing
	holders, err := l.Holders(ctx)
	return slices.Sorted(maps.Keys(holders)), err
}

// demandSlot asks the holder of one slot.
func (r *resignation) demandSlot(ctx context.Context, number int) (string, error) {
	lock := locks.SlotName(r.opt.Lock, number)
	one, err := r.of(lock).resignation(r.command, r.demand)
	if err != nil {
		return "", err
	}
	defer one.close()
	said, err := one.ask(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("slot %d: %w", number, err)
	case said == "":
		said = noHolder(lock)
	}
	return said, nil
}

func noHolder(lock string) string {
	return fmt.Sprintf("lock %q is free: there is no holder to ask", lock)
}
