package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A fakeStore is a backend in memory.
type fakeStore struct {
	locks.Lock
	can []locks.Ability

	mu      sync.Mutex
	state   locks.State
	err     error
	looks   int
	reports chan struct{}
	watches int
}

func (s *fakeStore) Close() error { return nil }

func (s *fakeStore) Abilities(context.Context) ([]locks.Ability, error) { return s.can, nil }

func (s *fakeStore) Inspect(context.Context) (locks.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.state, s.err
}

func (s *fakeStore) Watch(context.Context, bool) (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches++
	s.reports = make(chan struct{}, 1)
	return s.reports, nil
}

// is changes the lock, and reports the change to a watch.
func (s *fakeStore) is(holder string, token uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = locks.State{Status: locks.Status{Held: holder != "", Holder: holder, Token: token}}
	s.err = err
	if s.reports != nil {
		select {
		case s.reports <- struct{}{}:
		default:
		}
	}
}

// follow follows the store in the background. It returns a function that returns the changes
// so far, in words.
func follow(t *testing.T, s locks.Lock) (changes func() []string, ended <-chan error) {
	return followWith(t, s, nil)
}

// followWith is like follow, with a function that opens another handle.
func followWith(t *testing.T, s locks.Lock, reopen func(context.Context) (locks.Lock, error)) (changes func() []string, ended <-chan error) {
	return followAs(t, &Follower{Store: &Store{Handle: s, Name: "a", Timeout: time.Second, Open: reopen}, Interval: 2 * time.Second})
}

// followAs is like follow, with the given Follower.
func followAs(t *testing.T, f *Follower) (changes func() []string, ended <-chan error) {
	var mu sync.Mutex
	var seen []string
	f.Seen = func(_ []Lock, all []Change) error {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range all {
			text := c.Kind
			if c.Lock != nil {
				text += " " + c.Lock.Holder
			}
			seen = append(seen, text)
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	done := make(chan error, 1)
	go func() { done <- f.Follow(ctx) }()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}, done
}

// TestFollowReports: if the backend reports changes, a change is seen at once.
func TestFollowReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{can: []locks.Ability{locks.CanInspect, locks.CanWatch}}
		changes, _ := follow(t, s)
		synctest.Wait()
		for i := range uint64(3) {
			s.is("x", i+1, nil)
			synctest.Wait()
		}
		if got, want := changes(), []string{"free ", "held x", "held x", "held x"}; !slices.Equal(got, want) {
			t.Errorf("seen: %q; want %q", got, want)
		}
		looks := s.looks
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if s.looks != looks {
			t.Errorf("looked %d times without a report", s.looks-looks)
		}
		s.mu.Lock()
		close(s.reports) // the watch ends
		s.mu.Unlock()
		time.Sleep(time.Second) // whatever the interval is
		synctest.Wait()
		if s.watches != 2 {
			t.Errorf("watched %d times; want another one after the end of the first", s.watches)
		}
	})
}

// TestFollowLooks: if the backend does not report changes, the Follower looks every Interval.
func TestFollowLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{can: []locks.Ability{locks.CanInspect}}
		changes, _ := follow(t, s)
		synctest.Wait()
		s.is("x", 1, nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got, want := changes(), []string{"free ", "held x"}; !slices.Equal(got, want) {
			t.Errorf("seen: %q; want %q", got, want)
		}
	})
}

// TestFollowThroughOutage: an outage is reported once, and changes during it after it.
func TestFollowThroughOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{can: []locks.Ability{locks.CanInspect, locks.CanWatch}}
		changes, ended := follow(t, s)
		synctest.Wait()
		s.is("x", 1, fmt.Errorf("down: %w", locks.ErrUnavailable))
		time.Sleep(time.Minute)
		s.is("x", 1, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := changes(), []string{"free ", "unreachable", "reachable", "held x"}; !slices.Equal(got, want) {
			t.Errorf("seen: %q; want %q", got, want)
		}
		s.is("x", 1, locks.ErrDenied)
		time.Sleep(time.Minute)
		if err := <-ended; !errors.Is(err, locks.ErrDenied) {
			t.Errorf("ended with %v; want ErrDenied", err)
		}
	})
}

// TestFollowPatiently: a Patient Follower goes on after an outage at the first look.
func TestFollowPatiently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{can: []locks.Ability{locks.CanInspect}, err: locks.ErrUnavailable}
		changes, _ := followAs(t, &Follower{Store: &Store{Handle: s, Name: "a", Timeout: time.Second}, Interval: time.Second, Patient: true})
		time.Sleep(time.Minute)
		s.is("x", 1, nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := changes(), []string{"unreachable", "reachable", "held x"}; !slices.Equal(got, want) {
			t.Errorf("seen: %q; want %q", got, want)
		}
	})
}

func TestFollowNeedsAFirstLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{can: []locks.Ability{locks.CanInspect}, err: locks.ErrUnavailable}
		if _, ended := follow(t, s); !errors.Is(<-ended, locks.ErrUnavailable) {
			t.Error("no error about a backend that cannot be reached")
		}
	})
}

// A slotted store reports changes of its slots only to a watch of all locks.
type slotted struct{ listing }

func (s *slotted) Watch(ctx context.Context, all bool) (<-chan struct{}, error) {
	if all {
		return s.listing.Watch(ctx, all)
	}
	return make(chan struct{}), nil
}

// TestFollowSlots: changes of a lock's slots are reported, even if all slots are free when we
// begin.
func TestFollowSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(slotted)
		s.can = []locks.Ability{locks.CanInspect, locks.CanList, locks.CanWatch}
		s.pages = [][]locks.Listed{{{Name: "a#0", Record: []byte("{}")}}}
		changes, _ := follow(t, s)
		synctest.Wait()
		s.pages = [][]locks.Listed{append(listed("a#1"), s.pages[0]...)}
		s.is("", 0, nil)
		synctest.Wait()
		s.pages = [][]locks.Listed{s.pages[0][1:]}
		s.is("", 0, nil)
		synctest.Wait()
		if got, want := changes(), []string{"free ", "held x", "free "}; !slices.Equal(got, want) {
			t.Errorf("seen: %q; want %q", got, want)
		}
	})
}

// TestFollowFirstSlots: the first slots of a new lock are seen within a second, although only a
// list has them.
func TestFollowFirstSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(slotted)
		s.can = []locks.Ability{locks.CanInspect, locks.CanList, locks.CanWatch}
		s.pages = make([][]locks.Listed, 1)
		changes, _ := follow(t, s)
		time.Sleep(2500 * time.Millisecond)
		s.mu.Lock()
		s.pages = [][]locks.Listed{listed("a#1")}
		s.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := changes(), []string{"free ", "held x"}; !slices.Equal(got, want) {
			t.Errorf("seen: %q; want %q", got, want)
		}
	})
}

// TestFollowConfirms: if a lease has ended by a clock that may be wrong, the Follower looks again when
// that can be confirmed, because nothing reports it.
func TestFollowConfirms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{can: []locks.Ability{locks.CanInspect, locks.CanWatch}}
		s.state.Status = locks.Status{Held: true, Holder: "x", Left: -time.Second, Confirm: 2 * time.Second}
		follow(t, s)
		synctest.Wait()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s.looks != 2 {
			t.Errorf("looked %d times; want 2", s.looks)
		}
	})
}

// TestFollowReopens: a handle whose helper program has died never responds again, and is
// replaced. The new handle is also watched.
func TestFollowReopens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		can := []locks.Ability{locks.CanInspect, locks.CanWatch}
		old, fresh := &fakeStore{can: can}, &fakeStore{can: can}
		next := []func() (locks.Lock, error){
			func() (locks.Lock, error) { return nil, locks.ErrUnavailable },                  // the program file is being replaced
			func() (locks.Lock, error) { return &fakeStore{err: locks.ErrUnavailable}, nil }, // it dies before it reports its abilities
			func() (locks.Lock, error) { return fresh, nil },
		}
		changes, _ := followWith(t, old, func(context.Context) (locks.Lock, error) {
			open := next[0]
			next = next[1:]
			return open()
		})
		synctest.Wait()
		old.is("", 0, locks.ErrUnavailable)
		time.Sleep(time.Minute)
		fresh.is("x", 1, nil)
		synctest.Wait()
		if got, want := changes(), []string{"free ", "unreachable", "reachable", "held x"}; !slices.Equal(got, want) {
			t.Errorf("seen: %q; want %q", got, want)
		}
	})
}
