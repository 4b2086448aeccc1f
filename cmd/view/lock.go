package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/recipe/ledger"
)

// A Lock is one lock as it was at a moment.
type Lock struct {
	Name string
	locks.State
	Last *Run // the last run that was completed, with --once-per; nil: none is known
	// Odd is what makes no sense about what is stored, for people.
	Odd []string
}

// A Run is one that finished well.
type Run struct {
	ledger.Run
	Spec string // its schedule
}

// What a lock can be.
const (
	Free   = "free"
	Held   = "held"
	Lapsed = "lapsed" // its lease is over by the server's account, and nobody has taken it since
)

// Is returns which of these the lock is.
func (l *Lock) Is() string {
	switch {
	case !l.Held:
		return Free
	case l.Left < 0:
		return Lapsed
	}
	return Held
}

// WithoutLeft returns the locks without what was left of leases that were not over.
func WithoutLeft(all []Lock) []Lock {
	all = slices.Clone(all)
	for i := range all {
		all[i].Left = min(all[i].Left, 0)
	}
	return all
}

// newLock makes a Lock of what a backend tells.
func newLock(name string, state locks.State, record []byte, now time.Time) Lock {
	l := Lock{Name: name, State: state}
	switch {
	case !l.Held:
	case l.Holder == "":
		l.Odd = append(l.Odd, "the record of its holder is invalid: another program may have written it")
	case l.Since.After(now.Add(aheadLimit)):
		l.Odd = append(l.Odd, "it has been held since a time in the future: the holder's clock or ours is wrong")
	}
	r, err := ledger.Read(record)
	if err != nil {
		l.Odd = append(l.Odd, err.Error())
		return l
	}
	if spec, run, ok := r.Last(); ok {
		if run.At < 0 || run.At > lastSecond {
			run.At = 0
			l.Odd = append(l.Odd, "the time of its last run is invalid")
		}
		l.Last = &Run{run, spec}
	}
	return l
}

// lastSecond is the end of the year 9999, after which JSON has no times.
const lastSecond = 253402300799

// aheadLimit is by how much another clock may be ahead without a remark.
const aheadLimit = 2 * time.Second

// sortLocks sorts by name, and slots of one lock by number.
func sortLocks(all []Lock) {
	slices.SortFunc(all, func(a, b Lock) int {
		nameA, slotA := locks.CutSlot(a.Name)
		nameB, slotB := locks.CutSlot(b.Name)
		return cmp.Or(strings.Compare(nameA, nameB), cmp.Compare(slotA, slotB))
	})
}

// seat removes the turnstiles, slots 0: who holds or awaits one waits for a slot. All
// of them are shown with the first slot of theirs.
func seat(all []Lock) []Lock {
	var out []Lock
	var gate *Lock // of the slots that follow
	for i := range all {
		l := &all[i]
		base, number := locks.CutSlot(l.Name)
		if number == 0 {
			gate = l
			continue
		}
		if gate != nil && gate.Held && number > 0 && isSlotOf(gate.Name, base) {
			l.Waiters, l.Queue = gate.Waiters+1, append([]locks.Place{gate.place()}, gate.Queue...)
			gate.Waiters, gate.Queue, gate.Held = 0, nil, false
		} else if number > 0 {
			l.Waiters, l.Queue = 0, nil // that is who is at the turnstile
		}
		out = append(out, *l)
	}
	return out
}

// place is the holder, as one who waits.
func (l *Lock) place() locks.Place {
	return locks.Place{Holder: l.Holder, RunID: l.RunID, Since: l.Since}
}

func isSlotOf(gate, base string) bool {
	of, _ := locks.CutSlot(gate)
	return of == base
}
