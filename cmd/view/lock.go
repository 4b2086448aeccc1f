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
	Unknown bool // it is free, and was not in a list of all locks
	Counted bool // the backend knows the waiters
	Last    *Run // the last successful run with --once-per; nil: none is known
	// Stopping says that the holder's job was asked to stop; nil: it is not known to be.
	Stopping *ledger.Stopping
	// Odd describes, for people, what makes no sense in what is stored.
	Odd []string
}

// A Run is a run that succeeded.
type Run struct {
	ledger.Run
	Spec string // its schedule
}

// The states of a lock.
const (
	Free   = "free"
	Held   = "held"
	Lapsed = "lapsed" // according to the server the lease has ended, but nobody has taken the lock since
)

// Is returns the state of the lock.
func (l *Lock) Is() string {
	switch {
	case !l.Held:
		return Free
	case l.Left < 0:
		return Lapsed
	}
	return Held
}

// withoutLeft returns the locks without the time that was left of their leases. It keeps how
// long ago a lease has ended.
func withoutLeft(all []Lock) []Lock {
	all = slices.Clone(all)
	for i := range all {
		all[i].Left = min(all[i].Left, 0)
	}
	return all
}

// newLock returns the lock that a backend has reported.
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
	l.Stopping = StoppingOf(r, l.Status)
	if spec, run, ok := r.Last(); ok {
		if run.At < 0 || run.At > lastSecond {
			run.At = 0
			l.Odd = append(l.Odd, "the time of its last run is invalid")
		}
		l.Last = &Run{run, spec}
	}
	return l
}

// StoppingOf returns what the present holder says about its stop, or nil.
func StoppingOf(r *ledger.Record, now locks.Status) *ledger.Stopping {
	if s := r.Stopping; now.Held && s != nil && s.Token == now.Token && 0 <= s.Since && s.Since <= s.Kill && s.Kill < lastSecond {
		return s
	}
	return nil
}

// lastSecond is the end of the year 9999, after which JSON has no times.
const lastSecond = 253402300799

// aheadLimit is how far another clock may be ahead before we mention it.
const aheadLimit = 2 * time.Second

// sortLocks sorts by name, and slots of one lock by number.
func sortLocks(all []Lock) {
	slices.SortFunc(all, func(a, b Lock) int {
		nameA, slotA := locks.CutSlot(a.Name)
		nameB, slotB := locks.CutSlot(b.Name)
		return cmp.Or(strings.Compare(nameA, nameB), cmp.Compare(slotA, slotB))
	})
}

// seat removes the turnstiles, which are slots 0. A run that holds a turnstile or waits for
// it waits for a slot, so all of these runs are shown with the lock's first slot.
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
			l.Waiters, l.Queue = 0, nil // this waiter is the holder of the turnstile
		}
		out = append(out, *l)
	}
	return out
}

// mixed returns the locks with a remark on each that is held both as a whole and in slots: neither
// excludes the other.
func mixed(all []Lock) []Lock {
	var whole *Lock
	for i := range all {
		l := &all[i]
		base, number := locks.CutSlot(l.Name)
		switch {
		case !l.Held || l.Over():
		case number < 0:
			whole = l
		case whole != nil && whole.Name == base:
			whole.Odd = append(whole.Odd, "it is held with and without --slots, which do not exclude each other")
			whole = nil
		}
	}
	return all
}

// place returns the holder as a waiter.
func (l *Lock) place() locks.Place {
	return locks.Place{Holder: l.Holder, RunID: l.RunID, Since: l.Since}
}

func isSlotOf(gate, base string) bool {
	of, _ := locks.CutSlot(gate)
	return of == base
}
