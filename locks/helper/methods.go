package helper

import (
	"slices"

	"github.com/leaderrun/leaderrun/locks"
)

// A method is an entry in the table of all requests that a helper can get. Apart from the
// four methods of locks.Lock, nothing else here knows which methods there are. A new
// ability is an entry in this table and one in answers, the fields of its lines in
// wire.go, and a method of Lock. The helper's end has its own table because leaderrun
// does not need it, and would be 100 KB larger with it.
type method struct {
	name string        // on the wire
	can  locks.Ability // that the method needs; "" if each helper has the method
	more locks.Ability // that promises more of its result; "" if none

	// check reports whether a request is valid; both ends call it. If it is nil, requests
	// have no long fields. Of the methods with a check, one request is under way at a
	// time, even counting those that were given up. See maxPending.
	check func(*request) error

	// take is the core's end: it returns an error for an invalid result, and keeps what
	// the session needs. If it is nil, there is no result.
	take func(*pending, *result) error
}

// methods returns the table. Abilities are declared in its order.
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

// allows returns an error if a request is invalid.
func (m *method) allows(r *request) error {
	if m.check == nil {
		return nil
	}
	return m.check(r)
}

// long reports whether a request of the method may be long.
func (m *method) long() bool { return m.check != nil }

func checkText(r *request) error   { return locks.CheckText([]byte(r.Text)) }
func checkCursor(r *request) error { return locks.CheckCursor(r.Cursor) }

func cannot(what string) error {
	return &locks.UsageError{What: "this backend cannot " + what}
}

type table []method

// named returns the method with that name, or nil if there is none.
func (t table) named(name string) *method {
	for i := range t {
		if t[i].name == name {
			return &t[i]
		}
	}
	return nil
}

// abilities returns the declared abilities that have methods, in the table's order.
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
