package caslease

import (
	"cmp"
	"context"
	"errors"
)

// A Cause is a kind of error with its own hint, or one that the engine has to know.
type Cause struct {
	Is   func(error) bool
	Kind Kind   // 0: the request may have had an effect
	Text string // replaces the error's text; "": that is clear enough
	Hint string
}

// FaultOf returns what an error means: the first cause that matches counts. An error that
// none matches, as when no answer has come, is of the kind Unknown. Plain returns the text of
// an error for users.
func FaultOf(err error, causes []Cause, plain func(error) string) Fault {
	for _, c := range causes {
		if c.Is(err) {
			return Fault{Kind: c.Kind, Text: cmp.Or(c.Text, plain(err)), Hint: c.Hint}
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return Fault{}
	}
	return Fault{Text: plain(err)}
}
