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
	// Reopen makes another handle in the place of Handle, which it closes; nil: there
	// is no other. A handle whose helper program has died never answers again.
	Reopen func(context.Context) (locks.Lock, error)

	slotted bool      // slots were seen, or what is kept beside them
	asked   time.Time // when we last looked for slots
}

// slotsEvery is how often a lock that is free is looked at for slots: that takes a
// list of all locks.
const slotsEvery = 30 * time.Second

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
	slots, err := s.list(ctx, func(name string) bool {
		is := isSlotOf(name, s.Name) && name != s.Name
		s.slotted = s.slotted || is
		return is
	})
	switch {
	case errors.Is(err, locks.ErrDenied): // who may look at one lock need not be allowed to list all
		one.Odd = append(one.Odd, "cannot see whether it has slots: "+err.Error())
	case err != nil:
		return nil, err
	case len(slots) > 0: // else the turnstile alone is left of slots that are free
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

// IsWide reports whether what is looked at is more than one lock, as far as the last
// look has shown.
func (s *Store) IsWide() bool { return s.Name == "" || s.slotted }

// reopen goes on with another handle, if there is one.
func (s *Store) reopen(ctx context.Context) {
	if s.Reopen == nil {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if h, err := s.Reopen(bounded); err == nil {
		s.Handle = h
	}
}

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
		return Lock{}, Unanswered(ctx, err)
	}
	var text []byte
	if s.Can(ctx, locks.CanRecord) {
		if text, err = s.Handle.(locks.Recorder).Record(bounded); err != nil {
			return Lock{}, Unanswered(ctx, err)
		}
	}
	return newLock(s.Name, state, text, time.Now()), nil
}

// list looks at all locks that are wanted.
func (s *Store) list(ctx context.Context, wanted func(name string) bool) ([]Lock, error) {
	all, err := s.Kept(ctx, wanted)
	return seat(all), err
}

// Kept returns what the backend lists, of what is wanted: turnstiles of slots, too, with
// number 0. Slots come after the lock that they are of, in order.
func (s *Store) Kept(ctx context.Context, wanted func(name string) bool) ([]Lock, error) {
	var all []Lock
	seen := map[string]bool{}
	page := func(cursor string) ([]locks.Listed, string, error) { return s.page(ctx, cursor) }
	err := locks.Pages(page, func(page []locks.Listed) {
		for _, l := range page {
			if wanted(l.Name) && !seen[l.Name] {
				seen[l.Name] = true
				all = append(all, newLock(l.Name, locks.State{Status: l.Status}, l.Record, time.Now()))
			}
		}
	})
	if err != nil {
		return nil, err
	}
	sortLocks(all)
	return all, nil
}

func (s *Store) page(ctx context.Context, cursor string) ([]locks.Listed, string, error) {
	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	page, next, err := s.Handle.(locks.Lister).List(bounded, cursor)
	return page, next, OfAll(Unanswered(ctx, err))
}

// OfAll takes the name of the handle's lock out of an error that is about all locks.
func OfAll(err error) error {
	var e *locks.Error
	if !errors.As(err, &e) {
		return err
	}
	of := *e
	of.Name = ""
	for _, class := range []error{locks.ErrHeld, locks.ErrLost, locks.ErrDenied, locks.ErrUnavailable, locks.ErrUsage} {
		if errors.Is(err, class) { // also of what was put around it
			of.Class = class
		}
	}
	return &of
}

// Unanswered classes the error of a request that had no answer in its time, if ctx,
// whose request it was, has not ended: then it is somebody who has given it up.
func Unanswered(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, locks.ErrUnavailable) {
		return err
	}
	if e := (*locks.Error)(nil); errors.As(err, &e) {
		of := *e
		of.Class = locks.ErrUnavailable
		return &of
	}
	return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
}
