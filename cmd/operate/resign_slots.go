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

// askAll asks the holder of the lock and those of all slots, because some of its runs may have been
// started with --slots, and others without. It returns a line about the outcome of each.
func (r *resignation) askAll(ctx context.Context) (string, error) {
	var one string
	var err error
	var all sync.WaitGroup
	all.Go(func() { one, err = r.ask(ctx) })
	numbers, unseen := r.slotsHeld(ctx)
	said, errs := make([]string, len(numbers)), make([]error, len(numbers))
	for i, number := range numbers {
		all.Go(func() { said[i], errs[i] = r.demandSlot(ctx, number) })
	}
	all.Wait()
	if err == nil {
		err = unseen // otherwise it is likely the same error
	}
	if len(numbers) == 0 && one == "" && err == nil {
		return noHolder(r.opt.Lock, r.before), nil
	}
	said = slices.DeleteFunc(append(said, one), func(line string) bool { return line == "" })
	return strings.Join(said, "\n"), errors.Join(append(errs, err)...)
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
		said = noHolder(lock, one.before)
	}
	return said, nil
}

func noHolder(lock string, s locks.Status) string {
	return nobody(lock, s) + ": there is no holder to ask"
}
