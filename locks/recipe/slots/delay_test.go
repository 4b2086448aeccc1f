package slots

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// TestLockDelay: a slot may look free although a try is refused. Then it counts as held, with the N
// of the one that had it, and is asked for a few times a second at most.
func TestLockDelay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		holders   int   // of slots 1 and up
		delayed   []int // those of them that are in their lock delay
		n         int   // of the holders
		ours      int   // our N
		want      int   // the slot that is ours at once; 0: all are held
		then      int   // otherwise, the slot whose delay ends first, which is ours then
		forgets   bool  // the record does not have the delayed slots
		impatient bool
	}{
		"the only one":       {holders: 1, delayed: []int{1}, n: 1, ours: 1, then: 1},
		"another is free":    {holders: 2, delayed: []int{1}, n: 3, ours: 3, want: 3},
		"all but one":        {holders: 3, delayed: []int{1, 2, 3}, n: 4, ours: 4, want: 4},
		"others are held":    {holders: 3, delayed: []int{2}, n: 3, ours: 3, then: 2},
		"theirs is fewer":    {holders: 2, delayed: []int{1}, n: 2, ours: 3, then: 1},
		"two of theirs":      {holders: 2, delayed: []int{1, 2}, n: 2, ours: 3, then: 1},
		"not in the record":  {holders: 2, delayed: []int{1}, n: 3, ours: 3, forgets: true, then: 1},
		"more than we await": {holders: 10, delayed: []int{10}, n: 10, ours: 10, then: 10},
		"it cannot wait":     {holders: 1, delayed: []int{1}, n: 1, ours: 1, then: 1, impatient: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMemory()
				for i := range tt.holders {
					try(t, m.slots(t, tt.n, fmt.Sprint("holder ", i+1)))
				}
				for _, number := range tt.delayed {
					m.held[fmt.Sprint("jobs#", number)].delay = true
				}
				if tt.forgets {
					m.records["jobs#0"] = []byte(`{"v":1,"slots":{"2":{"n":3,"token":4}}}`)
				}
				m.impatient = tt.impatient
				m.fault = func(verb, _ string) error {
					if verb == "open" && len(m.handles) > 1000 {
						return errors.New("that is a loop")
					}
					return nil
				}
				l := m.slots(t, tt.ours, "a")
				_, err := l.Acquire(t.Context(), true)
				switch held, ok := errors.AsType[*locks.HeldError](err); {
				case tt.want == 0 && (!ok || !held.Status.Held), tt.want > 0 && (err != nil || l.Slot() != tt.want):
					t.Fatalf("slot %d, %v; want %d", l.Slot(), err, tt.want)
				case tt.want > 0:
					return
				}
				opened, done := len(m.handles), make(chan error, 1)
				go func() { _, err := l.Acquire(t.Context(), false); done <- err }()
				time.Sleep(20 * time.Second)
				m.mu.Lock()
				opened = len(m.handles) - opened
				delete(m.held, fmt.Sprint("jobs#", tt.then))
				m.mu.Unlock()
				if err := <-done; err != nil || l.Slot() != tt.then {
					t.Errorf("then slot %d, %v; want %d", l.Slot(), err, tt.then)
				}
				if opened > 20*20 {
					t.Errorf("%d handles in 20 s", opened)
				}
				r, err := ledger.Read(m.records["jobs#0"])
				for _, number := range tt.delayed {
					if err != nil || !tt.forgets && r.Slots[number].N == 0 {
						t.Errorf("the record is %+v, %v, without slot %d", r, err, number)
					}
				}
			})
		})
	}
}
