// Package causes tells errors apart, some of them only by their text, and explains them.
package causes

import (
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// A Cause is a cause of errors that users meet. The tests of a backend check each of its
// causes against a real server.
type Cause struct {
	Pattern string           // part of the error's text
	Is      func(error) bool // or whether an error has this cause; nil: the Pattern decides
	Kind    Kind             // 0: the request may have had an effect
	Text    string           // replaces the error's text; "": that is clear enough
	Hint    string
}

func (c *Cause) matches(err error, text string) bool {
	if c.Is != nil {
		return c.Is(err)
	}
	return strings.Contains(text, c.Pattern)
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

// Explain returns what [Fault.Explain] does, for what [Of] returns.
func Explain(err error, text string, all []Cause, onlyTime bool, d time.Duration) *locks.Error {
	return Of(err, text, all, onlyTime).Explain(err, onlyTime, d, HintSilent)
}
