package operate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/slots"
)

// askAll asks the holder of the lock and those of all slots, because some of its runs may have been
// started with --slots, and others without. It returns a line about the outcome of each. Each slot
// has its own tokens, so that a demand with a token is not for slots.
func (r *resignation) askAll(ctx context.Context) (string, error) {
	var one string
	var err, unseen error
	var numbers []int
	var all sync.WaitGroup
	all.Go(func() { one, err = r.ask(ctx) })
	if r.demand.token == 0 {
		var holders map[int]locks.Status
		holders, unseen = r.slotsHeld(ctx)
		numbers = slices.Sorted(maps.Keys(holders))
	}
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

// nameSlot returns an error that names the slots that are held, or nil if none is.
func (v *visit) nameSlot(ctx context.Context) error {
	holders, err := v.slotsHeld(ctx)
	var held []string
	for _, number := range slices.Sorted(maps.Keys(holders)) {
		if s := holders[number]; !s.Over() {
			held = append(held, fmt.Sprintf("%s, held by %s", locks.SlotName(v.opt.Lock, number), holder(s)))
		}
	}
	if len(held) > 0 {
		return output.WithHint(locks.Usagef("lock %q has slots: name one of them", v.opt.Lock),
			"add --lock with one of these: "+strings.Join(held, "; "))
	}
	return err
}

// slotsHeld returns the slots that are held, by number.
func (v *visit) slotsHeld(ctx context.Context) (holders map[int]locks.Status, err error) {
	if _, number := locks.CutSlot(v.opt.Lock); number >= 0 {
		return nil, nil
	}
	if err := locks.Require(ctx, v.Handle, "--slots", locks.CanRecord); err != nil {
		return nil, nil // without records there are no slots
	}
	open := func(ctx context.Context, o locks.Options) (locks.Lock, error) {
		return v.env.Registry.Open(ctx, v.backend, o)
	}
	err = v.Request(ctx, func(ctx context.Context) error {
		l, err := slots.Open(ctx, 1, open, v.options(v.opt.Lock))
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }() // it holds nothing
		holders, err = l.Holders(ctx)
		return err
	})
	return holders, err
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
