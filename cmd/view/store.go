package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
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
	// Open returns another handle to replace Handle; nil: there is no other. A handle
	// whose helper program has died never responds again.
	Open func(context.Context) (locks.Lock, error)

	slotted bool      // we saw slots, or their turnstile
	began   time.Time // when we first looked
	asked   time.Time // when we last looked for slots
}

// How often we look whether a lock has slots, because that takes a list of all locks: more often at
// first and while the lock is free, when somebody may be waiting for its first run.
const (
	slotsEvery = 30 * time.Second
	slotsSoon  = time.Second
	slotsFirst = time.Minute
)

// Request makes one request within Timeout.
func (s *Store) Request(ctx context.Context, request func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	return unanswered(ctx, request(bounded))
}

// Look returns the locks as they are now, sorted by name. If Name is set and the lock has
// no slots, Look returns it even if it is free. If it has slots, Look returns them, and the lock
// only if it is held as well.
func (s *Store) Look(ctx context.Context) ([]Lock, error) {
	if s.Name == "" {
		return s.list(ctx, func(string) bool { return true })
	}
	if s.began.IsZero() {
		s.began = time.Now()
	}
	one, err := s.inspect(ctx)
	if err != nil || s.untilSlots(ctx, one.Held) > 0 {
		return []Lock{one}, err
	}
	s.asked = time.Now()
	one.Unknown = !one.Held
	slots, err := s.list(ctx, func(name string) bool {
		one.Unknown = one.Unknown && !isSlotOf(name, s.Name)
		is := isSlotOf(name, s.Name) && name != s.Name
		s.slotted = s.slotted || is
		return is
	})
	one.Unknown = one.Unknown && err == nil
	switch {
	case errors.Is(err, locks.ErrDenied) && one.Held: // a user may look at one lock without being allowed to list all
	case errors.Is(err, locks.ErrDenied):
		one.Odd = append(one.Odd, "cannot see whether it has slots: "+err.Error())
	case err != nil:
		return nil, err
	case len(slots) > 0 && one.Held:
		return mixed(append([]Lock{one}, slots...)), nil
	case len(slots) > 0: // otherwise all slots are free, and only the turnstile remains
		return slots, nil
	}
	return []Lock{one}, nil
}

// untilSlots returns when to look for slots of the lock: 0 is now.
func (s *Store) untilSlots(ctx context.Context, held bool) time.Duration {
	if _, number := locks.CutSlot(s.Name); number >= 0 || s.Name == "" || !s.Can(ctx, locks.CanList) {
		return math.MaxInt64
	}
	every := slotsEvery
	switch {
	case s.slotted, s.asked.IsZero():
		return 0
	case !held && time.Since(s.began) < slotsFirst:
		every = slotsSoon
	}
	return max(0, every-time.Since(s.asked))
}

// IsWide reports whether the Store looks at more than one lock, as far as the last look has
// shown.
func (s *Store) IsWide() bool { return s.Name == "" || s.slotted }

// reopen replaces the handle, if another can be opened.
func (s *Store) reopen(ctx context.Context) {
	if s.Open == nil {
		return
	}
	_ = s.Request(ctx, func(ctx context.Context) error { // the next look reports an error
		h, err := s.Open(ctx)
		if err == nil {
			_ = s.Handle.Close() // it holds nothing
			s.Handle = h
		}
		return err
	})
}

// Can reports whether the backend has an ability.
func (s *Store) Can(ctx context.Context, a locks.Ability) bool {
	return locks.Require(ctx, s.Handle, "", a) == nil
}

// inspect looks at the lock alone.
func (s *Store) inspect(ctx context.Context) (l Lock, err error) {
	err = s.Request(ctx, func(bounded context.Context) error {
		state, err := s.Handle.(locks.Inspector).Inspect(bounded)
		if err != nil {
			return err
		}
		var record []byte
		if s.Can(ctx, locks.CanRecord) {
			if record, err = s.Handle.(locks.Recorder).Record(bounded); err != nil {
				return err
			}
		}
		l = newLock(s.Name, state, record, time.Now())
		l.Counted = s.Can(ctx, locks.CanQueue)
		return nil
	})
	return l, err
}

// list returns the wanted locks as users know them.
func (s *Store) list(ctx context.Context, wanted func(name string) bool) ([]Lock, error) {
	all, err := s.Kept(ctx, wanted)
	return mixed(seat(all)), err
}

// Kept returns the wanted locks that the backend lists, including the turnstiles of slots,
// which have number 0. The slots of a lock follow it, in order.
func (s *Store) Kept(ctx context.Context, wanted func(name string) bool) ([]Lock, error) {
	var all []Lock
	counted := s.Can(ctx, locks.CanQueue)
	seen := map[string]bool{}
	page := func(cursor string) ([]locks.Listed, string, error) { return s.page(ctx, cursor) }
	err := locks.Pages(page, func(page []locks.Listed) {
		for _, l := range page {
			if wanted(l.Name) && !seen[l.Name] {
				seen[l.Name] = true
				lock := newLock(l.Name, locks.State{Status: l.Status}, l.Record, time.Now())
				lock.Counted = counted
				all = append(all, lock)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	sortLocks(all)
	return all, nil
}

func (s *Store) page(ctx context.Context, cursor string) (page []locks.Listed, next string, err error) {
	err = s.Request(ctx, func(ctx context.Context) error {
		page, next, err = s.Handle.(locks.Lister).List(ctx, cursor)
		return err
	})
	return page, next, OfAll(err)
}

// OfAll removes the name of the handle's lock from an error that is about all locks.
func OfAll(err error) error {
	var e *locks.Error
	if !errors.As(err, &e) {
		return err
	}
	of := *e
	of.Name = ""
	if strings.HasPrefix(of.Op, "list") {
		of.Op = "list locks"
	}
	if class := classOf(err); class != nil { // err may wrap e and a class
		of.Class = class
	}
	return &of
}

// classOf returns the class of an error, or nil.
func classOf(err error) error {
	for _, class := range []error{locks.ErrHeld, locks.ErrLost, locks.ErrDenied, locks.ErrUnavailable, locks.ErrUsage} {
		if errors.Is(err, class) {
			return class
		}
	}
	return nil
}

// unanswered gives the error of a request that has no class, as if it timed out, the class
// ErrUnavailable: see [locks.Lock]. If ctx has ended, the caller has given up the request, and the
// error stays as it is, as does one about a file that is a denial: see output.Explain.
func unanswered(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || classOf(err) != nil || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if e := (*locks.Error)(nil); errors.As(err, &e) {
		of := *e
		of.Class = locks.ErrUnavailable
		return &of
	}
	return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
}
