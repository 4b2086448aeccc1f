package slots

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// TestTryTakesEnded: a try takes a slot whose lease has ended, though nobody has released it.
func TestTryTakesEnded(t *testing.T) {
	t.Parallel()
	m := newMemory()
	try(t, m.slots(t, 1, "dead"))
	for _, l := range m.held {
		l.over = true
	}
	try(t, m.slots(t, 1, "heir"))
}

// TestEnded: the first slot whose lease has ended is taken, unless it proved to be held.
func TestEnded(t *testing.T) {
	t.Parallel()
	over := locks.State{Status: locks.Status{Held: true, Left: -1}}
	v := &view{held: map[int]locks.State{1: {Status: locks.Status{Held: true}}, 2: over, 3: over}}
	for _, tt := range []struct {
		except map[int]bool
		want   int
	}{{nil, 2}, {map[int]bool{2: true}, 3}, {map[int]bool{2: true, 3: true}, 0}} {
		if got := v.ended(tt.except); got != tt.want {
			t.Errorf("except %v: got %d, want %d", tt.except, got, tt.want)
		}
	}
}

// TestFirstHolder: of the holders that a waiter reports, one whose lease may have ended comes first.
func TestFirstHolder(t *testing.T) {
	t.Parallel()
	if s := new(view).firstHolder(); s != (locks.Status{Held: true}) {
		t.Errorf("of none: %+v", s)
	}
	for want, confirm := range map[uint64][4]time.Duration{1: {0, 0, 0, 0}, 2: {0, 0, 5, 7}, 3: {0, 0, 0, 7}} {
		v := &view{held: map[int]locks.State{}}
		for number := 1; number <= 3; number++ {
			s := locks.Status{Held: true, Token: uint64(number)}
			s.Confirm = confirm[number]
			v.held[number] = locks.State{Status: s}
		}
		if got := v.firstHolder().Token; got != want {
			t.Errorf("%v: got slot %d, want %d", confirm, got, want)
		}
	}
}

// TestAwaitsEnded: of more slots than are awaited, one whose lease may have ended is.
func TestAwaitsEnded(t *testing.T) {
	t.Parallel()
	v := &view{held: map[int]locks.State{}}
	for number := 1; number <= width+3; number++ {
		v.held[number] = locks.State{Status: locks.Status{Held: true, Left: time.Duration(number)}}
	}
	for _, number := range []int{width + 2, width + 1} {
		v.held[number] = locks.State{Status: locks.Status{Held: true, Left: -time.Duration(number), Confirm: 1}}
	}
	if got, want := v.awaited(), append([]int{width + 1, width + 2}, upTo(width-2)...); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestLastWord: slots are known to be held only if each attempt has said so.
func TestLastWord(t *testing.T) {
	t.Parallel()
	held, down, before := &locks.HeldError{}, errors.New("down"), errors.New("before")
	for _, tt := range []struct {
		errs []error
		want error
	}{
		{nil, before}, {[]error{held}, held}, {[]error{held, down}, down}, {[]error{down, held}, down}, {[]error{nil, held}, before},
	} {
		var attempts []*attempt
		for _, err := range tt.errs {
			attempts = append(attempts, &attempt{err: err})
		}
		if got := lastWord(attempts, before); !errors.Is(got, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.errs, got, tt.want)
		}
	}
}
