// Package causes explains errors that libraries tell apart by their text alone.
package causes

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A Cause is something that people meet. A backend's test holds each against a real server.
type Cause struct {
	Pattern string // in the text
	Denied  bool   // the server refused us: ErrDenied, and not ErrUnavailable
	Text    string // what to say instead; "": what was matched is clear enough
	Hint    string
}

// HintSilent is about a server that does not answer.
const HintSilent = "the address accepts connections but does not answer, or a firewall drops them; check the address"

// Connecting has the causes that are the same for every product.
func Connecting(product string) []Cause {
	return []Cause{
		{Pattern: "connection refused", Hint: "check that " + product + " runs there and listens on that address"},
		{Pattern: "no such host", Hint: "check the spelling of the host name"},
	}
}

// Explain finds the class of an error, a text that fits one line, and a hint. The text is
// that of the error without what libraries put around it; the first of all causes in it
// counts. If there is none and only time is known to be up, there was no answer within d.
func Explain(err error, text string, all []Cause, onlyTime bool, d time.Duration) *locks.Error {
	for _, class := range []error{locks.ErrLost, locks.ErrHeld} {
		if errors.Is(err, class) {
			return &locks.Error{Class: class, Err: err}
		}
	}
	e := &locks.Error{Class: locks.ErrUnavailable, Err: errors.New(text)}
	for _, c := range all {
		if !strings.Contains(text, c.Pattern) {
			continue
		}
		if c.Denied {
			e.Class = locks.ErrDenied
		}
		e.Err, e.Hint = errors.New(cmp.Or(c.Text, text)), c.Hint
		return e
	}
	if onlyTime {
		e.Err, e.Hint = fmt.Errorf("no answer within %v", d), HintSilent
	}
	return e
}
