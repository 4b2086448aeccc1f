package helper

import (
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// A method is one entry of the table of all that a helper can be asked for. Besides
// the four of locks.Lock, nothing else here knows which there are: a new ability is an
// entry in this table and one in answers, what its lines say in wire.go, and a method
// of Lock. The helper's end is a table of its own because leaderrun, which has no use
// for it, would be 100 KB larger.
type method struct {
	name string        // on the wire
	can  locks.Ability // that it needs; "": each helper has the method
	more locks.Ability // that promises more of its result; "": none

	// check is asked by both ends whether a request may be as it is. Nil: it says
	// nothing that could be long. Of those that may be, one is under way at a time,
	// even of such as were given up. See maxPending.
	check func(*request) error

	// take is the core's end: it reports what cannot be in a result, and keeps what is
	// of use to the session. Nil: a result says nothing.
	take func(*pending, *result) error
}

// methods returns the table. The abilities are declared in its order.
func methods() table {
	return table{
		{name: methodOpen, take: (*pending).takeOpened},
		{name: methodAcquire, take: (*pending).takeGrant},
		{name: methodRenew, take: (*pending).takeRenewal},
		{name: methodRelease},
		{name: methodInspect, can: locks.CanInspect, more: locks.CanQueue, take: takeState},
		{name: methodRecord, can: locks.CanRecord, take: takeRecord},
		{name: methodSetRecord, can: locks.CanRecord, check: checkText},
		{name: methodAsk, can: locks.CanAsk, check: checkText},
		{name: methodList, can: locks.CanList, check: checkCursor, take: (*pending).takeList},
		{name: methodWatch, can: locks.CanWatch, take: (*pending).takeEnd},
		{name: methodBreak, can: locks.CanBreak},
		{name: methodProbe, can: locks.CanProbe, take: takeServers},
		{name: methodForget, can: locks.CanForget},
	}
}

// allows reports what a request may not say.
func (m *method) allows(r *request) error {
	if m.check == nil {
		return nil
	}
	return m.check(r)
}

// long reports that a request of the method may be long.
func (m *method) long() bool { return m.check != nil }

func checkText(r *request) error   { return locks.CheckText([]byte(r.Text)) }
func checkCursor(r *request) error { return locks.CheckCursor(r.Cursor) }

func cannot(what string) error {
	return &locks.UsageError{What: "this backend cannot " + what}
}

type table []method

// named returns the method of that name; nil if there is none.
func (t table) named(name string) *method {
	for i := range t {
		if t[i].name == name {
			return &t[i]
		}
	}
	return nil
}

// abilities returns those of the declared ones that its methods have, in its order.
func (t table) abilities(declared []locks.Ability) (all []locks.Ability) {
	for i := range t {
		for _, a := range []locks.Ability{t[i].can, t[i].more} {
			if a != "" && slices.Contains(declared, a) && !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}
