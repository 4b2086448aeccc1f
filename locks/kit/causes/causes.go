// Package causes tells errors apart, some of them only by their text, and explains them.
package causes

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A Cause is a cause of errors that users meet. The tests of a backend check each of its
// causes against a real server.
type Cause struct {
	Pattern string // part of the error's text
	Denied  bool   // the server refused us: the class is ErrDenied, not ErrUnavailable
	Text    string // replaces the error's text; "": that is clear enough
	Hint    string
}

// HintSilent is the hint about a server that does not answer.
const HintSilent = "the address accepts connections but does not answer, or a firewall drops them; check the address"

// Connecting returns the causes that are the same for every product.
func Connecting(product string) []Cause {
	return []Cause{
		{Pattern: "connection refused", Hint: "check that " + product + " runs there and listens on that address"},
		{Pattern: "no such host", Hint: "check the spelling of the host name"},
	}
}

// Explain returns the class of an error, a text of one line, and a hint. The given text is the
// error's, without what libraries put around it. The first cause that it contains counts. If
// it contains none, and nothing is known except that the time was up, Explain says that there
// was no answer within d.
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
