// Package causes tells errors apart, some of them only by their text, and explains them.
package causes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
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

// A Fault says what an error means.
type Fault struct {
	Kind Kind
	// Text describes the error in one line without secrets. If it is "", the error's own
	// text is used, or for an error of a context, that there was no answer in time.
	Text string
	// Hint says what the user might do about the error: a sentence without a full stop.
	Hint string
}

// A Kind is what a recipe needs to know about an error. In doubt, use Unknown.
type Kind int

const (
	// Unknown: the request may or may not have had an effect. Another attempt may succeed.
	Unknown Kind = iota
	// Changed: the cell has changed, or does not exist. The request had no effect; that
	// also holds for all kinds below.
	Changed
	// Throttled: the request came too soon, or there are too many. A later one may succeed.
	Throttled
	// Unsent: the request definitely had no effect. Another attempt may succeed.
	Unsent
	// Unreachable: nothing answers at the address. The first request reports this at once,
	// because the address may be wrong. While somebody waits or has the lock, requests are
	// repeated.
	Unreachable
	// Refused: another attempt would get the same answer.
	Refused
	// Denied: the same, because permission or credentials are missing.
	Denied
	// Misnamed: the same, because a parameter of the URL names something that does not exist.
	Misnamed
	// Ended: the store's own lease, under which the cell was to be changed, has ended, or
	// somebody else has it. See caslease.ByLease.
	Ended
)

// Transient reports whether the same request may succeed soon.
func (k Kind) Transient() bool {
	return k == Unknown || k == Throttled || k == Unsent || k == Unreachable
}

// NoEffect reports whether the request definitely had no effect.
func (k Kind) NoEffect() bool { return k >= Changed }

// Of returns what an error means. The text is the error's, without what libraries put around
// it. The first cause that matches counts. If none does, and nothing is known except that the
// time was up, the Fault is zero.
func Of(err error, text string, all []Cause, onlyTime bool) Fault {
	for _, c := range all {
		if c.matches(err, text) {
			return Fault{Kind: c.Kind, Text: cmp.Or(c.Text, text), Hint: c.Hint}
		}
	}
	if onlyTime {
		return Fault{}
	}
	return Fault{Text: text}
}

// Explain returns the class of an error, a text of one line, and a hint, which is silent if
// nothing is known except that there was no answer within d.
func (f Fault) Explain(err error, onlyTime bool, d time.Duration, silent string) *locks.Error {
	e := &locks.Error{Class: locks.ErrUnavailable, Err: errors.New(f.Text), Hint: f.Hint}
	if f.Text == "" && f.Hint == "" && onlyTime {
		e.Err, e.Hint = fmt.Errorf("no answer within %v", d), silent
	} else if f.Text == "" {
		e.Err = errors.New(locks.Printable(err.Error()))
	}
	switch f.Kind {
	case Denied:
		e.Class = locks.ErrDenied
	case Refused:
		e.Class = locks.ErrRefused
	case Misnamed:
		e.Class = locks.ErrUsage
	}
	return e
}

// Is reports whether an error is or wraps one of type E.
func Is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// NoConnection reports whether no connection could be made. It is false for an attempt that
// timed out, because the next one may succeed.
func NoConnection(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && !op.Timeout()
}

// IsContext reports whether a context ended the request.
func IsContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
