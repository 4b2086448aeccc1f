package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// The kinds of changes in addition to Free, Held and Lapsed.
const (
	Waiting     = "waiting"     // the waiters of a lock have changed
	Unreachable = "unreachable" // the backend does not respond
	Reachable   = "reachable"   // the backend responds again
)

// A Change is something that has happened since the previous look.
type Change struct {
	Time    time.Time // when we saw it
	Kind    string
	Lock    *Lock // as it is now; nil: the change is about the backend
	Before  *Lock // as it was; nil: this was the first look
	Trouble error // of Unreachable
}

// Changes compares two looks at the same locks.
func Changes(before, now []Lock, at time.Time) (all []Change) {
	old := map[string]*Lock{}
	for i := range before {
		old[before[i].Name] = &before[i]
	}
	for i := range now {
		l := &now[i]
		was := old[l.Name]
		delete(old, l.Name)
		if was == nil {
			was = &Lock{Name: l.Name}
		}
		if kind := compare(was, l); kind != "" {
			all = append(all, Change{Time: at, Kind: kind, Lock: l, Before: was})
		}
	}
	for i := range before { // what is no longer listed is free
		if was := old[before[i].Name]; was != nil && (was.Held || was.Waiters > 0) {
			all = append(all, Change{Time: at, Kind: Free, Lock: &Lock{Name: was.Name}, Before: was})
		}
	}
	return all
}

// compare returns the kind of change of a lock, or "" if there is none.
func compare(was, is *Lock) string {
	switch {
	case was.Is() != is.Is(), was.Over() != is.Over(), is.Held && (was.Token != is.Token || was.RunID != is.RunID):
		return is.Is()
	case was.Waiters != is.Waiters, !slices.EqualFunc(was.Queue, is.Queue, samePlace):
		return Waiting
	}
	return ""
}

func samePlace(a, b locks.Place) bool { return a.RunID == b.RunID && a.Holder == b.Holder }

// Line describes the change in one line.
func (c Change) Line() string {
	at := c.Time.Local().Format("2006-01-02 15:04:05.000 ")
	if c.Lock == nil {
		text := at + "the backend is " + c.Kind
		if c.Trouble != nil {
			text += ": " + locks.Printable(c.Trouble.Error())
		}
		return text
	}
	name := locks.Printable(c.Lock.Name)
	switch c.Kind {
	case Held:
		return at + name + ": held by " + who(c.Lock) + fmt.Sprintf(", token %d", c.Lock.Token)
	case Lapsed:
		return at + name + ": " + Ended(c.Lock.Status) + "; it was held by " + who(c.Lock)
	case Waiting:
		return at + name + fmt.Sprintf(": %d waiting", c.Lock.Waiters)
	}
	if c.Before != nil && c.Before.Held {
		return at + name + ": free, was held by " + who(c.Before)
	}
	return at + name + ": free"
}

func who(l *Lock) string {
	if l.Holder == "" {
		return "?"
	}
	return locks.Printable(l.Holder)
}

// ChangeJSON is a line of `leaderrun watch -o json`: the change, and the lock as it is now.
type ChangeJSON struct {
	V        int       `json:"v"`
	Time     time.Time `json:"time"` // when we saw it, by our clock
	Event    string    `json:"event"`
	First    bool      `json:"first,omitempty"` // the state at our first look
	Previous string    `json:"previous,omitempty"`
	Error    string    `json:"error,omitempty"`
	*JSON
}

// JSON returns what is printed of the change.
func (c Change) JSON() ChangeJSON {
	j := ChangeJSON{V: version, Time: c.Time.UTC().Truncate(time.Millisecond), Event: c.Kind}
	if c.Trouble != nil {
		j.Error = locks.Printable(c.Trouble.Error())
	}
	if c.Lock != nil {
		of := c.Lock.JSON()
		j.JSON, j.First = &of, c.First()
	}
	if c.Before != nil && c.Before.Held && (c.Lock == nil || c.Before.Token != c.Lock.Token) {
		j.Previous = locks.Printable(c.Before.Holder)
	}
	return j
}

// First reports whether this is the state of a lock at our first look.
func (c Change) First() bool { return c.Lock != nil && c.Before == nil }
