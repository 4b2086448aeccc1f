package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A listing is a backend that lists locks.
type listing struct {
	fakeStore
	pages [][]locks.Listed
	stuck bool
	fails error
}

func (s *listing) List(_ context.Context, cursor string) ([]locks.Listed, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if cursor != "" {
		n, _ = strconv.Atoi(cursor)
	}
	next := ""
	if n+1 < len(s.pages) {
		next = strconv.Itoa(n + 1)
	}
	if s.stuck && n > 0 {
		next = cursor
	}
	return s.pages[n], next, s.fails
}

func listed(names ...string) (page []locks.Listed) {
	for _, name := range names {
		page = append(page, locks.Listed{Name: name, Status: locks.Status{Held: true, Holder: "x"}})
	}
	return page
}

func TestLookAtAll(t *testing.T) {
	t.Parallel()
	s := &listing{pages: [][]locks.Listed{listed("c", "a"), nil, listed("b", "a")}}
	s.can = []locks.Ability{locks.CanList}
	all, err := (&Store{Handle: s, Timeout: time.Second}).Look(t.Context())
	if got, want := names(all), []string{"a", "b", "c"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	s.stuck = true
	if _, err := (&Store{Handle: s, Timeout: time.Second}).Look(t.Context()); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("an endless list: %v", err)
	}
}

// TestLookAtSlots: a lock that is free may have slots that are held.
func TestLookAtSlots(t *testing.T) {
	t.Parallel()
	s := &listing{pages: [][]locks.Listed{listed("job", "jobs", "jobs#2", "jobs#1", "jobs#x")}}
	s.can = []locks.Ability{locks.CanInspect, locks.CanList}
	all, err := (&Store{Handle: s, Name: "jobs", Timeout: time.Second}).Look(t.Context())
	if got, want := names(all), []string{"jobs#1", "jobs#2"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	s.is("x", 1, nil)
	all, err = (&Store{Handle: s, Name: "jobs", Timeout: time.Second}).Look(t.Context())
	if got, want := names(all), []string{"jobs", "jobs#1", "jobs#2"}; !slices.Equal(got, want) || err != nil || len(all[0].Odd) != 1 {
		t.Errorf("held as itself: got %+v, %v; want %q, with a remark", all, err, want)
	}
}

// TestLookWithoutList: a user who may look at one lock may not be allowed to list all.
func TestLookWithoutList(t *testing.T) {
	t.Parallel()
	s := &listing{pages: make([][]locks.Listed, 1), fails: locks.ErrDenied}
	s.can = []locks.Ability{locks.CanInspect, locks.CanList}
	all, err := (&Store{Handle: s, Name: "jobs", Timeout: time.Second}).Look(t.Context())
	if err != nil || len(all) != 1 || len(all[0].Odd) != 1 {
		t.Errorf("got %+v, %v; want the lock, and a remark", all, err)
	}
	s.is("x", 1, nil)
	if all, err = (&Store{Handle: s, Name: "jobs", Timeout: time.Second}).Look(t.Context()); err != nil || len(all[0].Odd) > 0 {
		t.Errorf("held: got %+v, %v; want the lock", all, err)
	}
	s.fails = locks.ErrUnavailable
	if _, err := (&Store{Handle: s, Name: "jobs", Timeout: time.Second}).Look(t.Context()); !errors.Is(err, locks.ErrUnavailable) {
		t.Errorf("an outage is %v", err)
	}
}

// TestOfAll: an error about all locks names none of them, and keeps its class.
func TestOfAll(t *testing.T) {
	t.Parallel()
	inner := &locks.Error{Op: "open", Backend: "etcd", Name: "leaderrun", Err: context.DeadlineExceeded}
	for _, class := range []error{locks.ErrDenied, locks.ErrUnavailable, locks.ErrUsage} {
		got := OfAll(fmt.Errorf("%w: %w", class, inner))
		if !errors.Is(got, class) || !errors.Is(got, context.DeadlineExceeded) || got.Error() != "open on etcd: context deadline exceeded" {
			t.Errorf("got %v; want one of the class %v without a name", got, class)
		}
	}
	if got := OfAll(io.EOF); got != io.EOF {
		t.Errorf("another error is now %v", got)
	}
	if got := OfAll(nil); got != nil {
		t.Errorf("no error is now %v", got)
	}
}
