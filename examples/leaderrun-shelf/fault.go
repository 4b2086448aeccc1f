package main

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
)

// A refusal is the status of an answer.
type refusal int

func (r refusal) Error() string { return "the shelf answers: " + http.StatusText(int(r)) }

// Fault implements [caslease.Store]. Errors not listed are Unknown: a 500, a broken
// connection, no answer in time. The request may have had an effect.
func (s *store) Fault(err error) causes.Fault {
	switch code, _ := errors.AsType[refusal](err); {
	case code == http.StatusPreconditionFailed:
		return causes.Fault{Kind: causes.Changed}
	case code == http.StatusTooManyRequests:
		return causes.Fault{Kind: causes.Throttled}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return causes.Fault{Kind: causes.Denied}
	case code >= 400 && code < 500:
		return causes.Fault{Kind: causes.Refused}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return causes.Fault{}
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return causes.Fault{Kind: causes.Unreachable, Text: dial.Error(), Hint: "start shelfd, or look at the address"}
	}
	return causes.Fault{}
}
