package view

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A Store is a backend, seen through one handle that never acquires.
type Store struct {
	Handle locks.Lock
	// Name is the lock to look at, and its slots if it has any; "": all locks.
	Name string
	// Timeout bounds each request.
	Timeout time.Duration

	slotted bool      // slots were seen
	asked   time.Time // when we last looked for slots
}

// slotsEvery is how often a lock that is free is looked at for slots: that takes a
// list of all locks.
const slotsEvery = 30 * time.Second

// Needs are the abilities without which there is nothing to see.
func (s *Store) Needs() []locks.Ability {
	if s.Name == "" {
		return []locks.Ability{locks.CanList}
	}
	return []locks.Ability{locks.CanInspect}
}

// Look returns the locks as they are now, by name. One lock is always there, also
// if it is free; if it has slots, they are there instead of it.
func (s *Store) Look(ctx context.Context) ([]Lock, error) {
	if s.Name == "" {
		return s.list(ctx, func(string) bool { return true })
	}
	one, err := s.inspect(ctx)
	if err != nil || one.Held || !s.maySlot(ctx) {
		return []Lock{one}, err
	}
	s.asked = time.Now()
	slots, err := s.list(ctx, func(name string) bool { return isSlotOf(name, s.Name) && name != s.Name })
	if err != nil {
		return nil, err
	}
	if s.slotted = len(slots) > 0; s.slotted {
		return slots, nil
	}
	return []Lock{one}, nil
}

// maySlot reports whether to look for slots of our lock.
func (s *Store) maySlot(ctx context.Context) bool {
	if _, number := locks.CutSlot(s.Name); number >= 0 {
		return false
	}
	return (s.slotted || time.Since(s.asked) > slotsEvery) && s.Can(ctx, locks.CanList)
}

// Slotted reports whether the last look saw slots of our lock.
func (s *Store) Slotted() bool { return s.slotted }

// Can reports whether the backend has an ability.
func (s *Store) Can(ctx context.Context, a locks.Ability) bool {
	return locks.Require(ctx, s.Handle, "", a) == nil
}

// inspect looks at our lock alone.
func (s *Store) inspect(ctx context.Context) (Lock, error) {
	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	state, err := s.Handle.(locks.Inspector).Inspect(bounded)
	if err != nil {
		return Lock{}, unanswered(ctx, err)
	}
	var text []byte
	if s.Can(ctx, locks.CanRecord) {
		if text, err = s.Handle.(locks.Recorder).Record(bounded); err != nil {
			return Lock{}, unanswered(ctx, err)
		}
	}
	return newLock(s.Name, state, text, time.Now()), nil
}

// list looks at all locks that are wanted.
func (s *Store) list(ctx context.Context, wanted func(name string) bool) ([]Lock, error) {
	var all []Lock
	seen := map[string]bool{}
	for cursor := ""; ; {
		page, next, err := s.page(ctx, cursor)
		if err != nil {
			return nil, err
		}
		for _, l := range page {
			if wanted(l.Name) && !seen[l.Name] {
				seen[l.Name] = true
				all = append(all, newLock(l.Name, locks.State{Status: l.Status}, l.Record, time.Now()))
			}
		}
		if next == "" {
			break
		}
		if next == cursor {
			return nil, fmt.Errorf("%w: the backend's list does not end", locks.ErrUnavailable)
		}
		cursor = next
	}
	sortLocks(all)
	return seat(all), nil
}

func (s *Store) page(ctx context.Context, cursor string) ([]locks.Listed, string, error) {
	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	page, next, err := s.Handle.(locks.Lister).List(bounded, cursor)
	return page, next, OfAll(unanswered(ctx, err))
}

// OfAll takes the name of the handle's lock out of an error that is about all locks.
func OfAll(err error) error {
	var e *locks.Error
	if !errors.As(err, &e) {
		return err
	}
	of := *e
	of.Name = ""
	return &of
}

// unanswered classes the error of a request that had no answer in its time, if
// nobody has given it up.
func unanswered(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, locks.ErrUnavailable) {
		return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
	}
	return err
}
