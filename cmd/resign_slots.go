package cmd

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
func (r *resignation) demandSlots(ctx context.Context, p *program) (string, error) {
	numbers, err := r.slotsHeld(ctx, p)
	if err != nil {
		return "", err
	}
	if len(numbers) == 0 {
		return nobody(r.lock), nil
	}
	said, errs := make([]string, len(numbers)), make([]error, len(numbers))
	var all sync.WaitGroup
	for i, number := range numbers {
		all.Go(func() { said[i], errs[i] = r.demandSlot(ctx, p, number) })
	}
	all.Wait()
	said = slices.DeleteFunc(said, func(line string) bool { return line == "" })
	return strings.Join(said, "\n"), errors.Join(errs...)
}

// slotsHeld are the numbers of the slots that are held.
func (r *resignation) slotsHeld(ctx context.Context, p *program) ([]int, error) {
	if _, number := locks.CutSlot(r.lock); number >= 0 {
		return nil, nil
	}
	if err := locks.Require(ctx, r.handle, "--slots", locks.CanRecord); err != nil {
		return nil, nil // so there are none
	}
	backend, err := locks.Parse(r.backend)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context, o locks.Options) (locks.Lock, error) {
		return p.Registry.Open(ctx, backend, o)
	}
	ctx, cancel := context.WithTimeout(ctx, r.connectTimeout.d)
	defer cancel()
	l, err := slots.Open(ctx, 1, open, r.asking(p, r.lock))
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }() // it holds nothing
	holders, err := l.Holders(ctx)
	return slices.Sorted(maps.Keys(holders)), err
}

// demandSlot asks the holder of one slot.
func (r *resignation) demandSlot(ctx context.Context, p *program, number int) (string, error) {
	o := *r.options
	o.lock = locks.SlotName(r.lock, number)
	one, err := p.resignation(&o, r.reason)
	if err != nil {
		return "", err
	}
	defer one.close()
	said, err := one.demand(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("slot %d: %w", number, err)
	case said == "":
		said = nobody(o.lock)
	}
	return said, nil
}

func nobody(lock string) string {
	return fmt.Sprintf("lock %q is free: there is nobody to resign", lock)
}
