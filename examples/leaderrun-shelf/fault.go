package main

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
)

// A refusal is the status of an answer.
type refusal int

func (r refusal) Error() string { return "the shelf answers: " + http.StatusText(int(r)) }

// Fault implements [caslease.Store]. Errors not listed are Unknown: a 500, a broken
// connection, no answer in time. The request may have had an effect.
func (s *store) Fault(err error) caslease.Fault {
	switch code, _ := errors.AsType[refusal](err); {
	case code == http.StatusPreconditionFailed:
		return caslease.Fault{Kind: caslease.Changed}
	case code == http.StatusTooManyRequests:
		return caslease.Fault{Kind: caslease.Throttled}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return caslease.Fault{Kind: caslease.Denied}
	case code >= 400 && code < 500:
		return caslease.Fault{Kind: caslease.Refused}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return caslease.Fault{}
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return caslease.Fault{Kind: caslease.Unreachable, Text: dial.Error(), Hint: "start shelfd, or look at the address"}
	}
	return caslease.Fault{}
}
