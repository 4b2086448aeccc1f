package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leaderrun/leaderrun/locks"
)

// How a term ended.
const (
	errReleased = locks.LostError("the handle was released")
	errClosed   = locks.LostError("the handle was closed")
	errExpired  = locks.LostError("the lease ended on the server")
	errDeleted  = locks.LostError("the key was deleted")
	errReplaced = locks.LostError("the key was overwritten by someone else")
	errNotHeld  = locks.LostError("the handle does not hold the lock")
)

// fail adds what an error needs at the boundary of the backend. If the
// caller's context has ended, that is what the error wraps.
func (l *Lock) fail(ctx context.Context, op string, err error) error {
	e := l.explain(err)
	e.Op, e.Backend, e.Name = op, l.addr, l.o.Name
	ended := ctx.Err()
	switch {
	case ended == nil, errors.Is(err, locks.ErrLost):
	case isContext(err) && !strings.Contains(err.Error(), "connection error"): // no cause is known
		e.Err = ended
	default:
		e.Err = fmt.Errorf("%w (%w)", ended, e.Err)
	}
	return e
}

// explain finds the class of an error, a text that fits one line, and a hint.
func (l *Lock) explain(err error) *locks.Error {
	switch {
	case errors.Is(err, locks.ErrLost):
		return &locks.Error{Class: locks.ErrLost, Err: err}
	case errors.Is(err, locks.ErrHeld):
		return &locks.Error{Class: locks.ErrHeld, Err: err}
	}
	text := plain(err)
	for _, c := range causes(l.settings.tls != nil) {
		if !strings.Contains(text, c.pattern) {
			continue
		}
		class := locks.ErrUnavailable
		if c.denied {
			class = locks.ErrDenied
		}
		return &locks.Error{Class: class, Err: errors.New(cmp.Or(c.text, text)), Hint: c.hint}
	}
	if isContext(err) {
		return &locks.Error{Class: locks.ErrUnavailable, Err: fmt.Errorf("no answer within %v", l.o.ConnectTimeout), Hint: hintSilent}
	}
	return &locks.Error{Class: locks.ErrUnavailable, Err: errors.New(text)}
}

func isContext(err error) bool {
	c := code(err)
	return c == codes.DeadlineExceeded || c == codes.Canceled
}

// transient reports that the same request may succeed soon.
func transient(err error) bool {
	c := code(err)
	return c == codes.Unavailable || c == codes.DeadlineExceeded || errors.Is(err, rpctypes.ErrTooManyRequests)
}

func code(err error) codes.Code {
	var e rpctypes.EtcdError
	if errors.As(err, &e) {
		return e.Code()
	}
	if c := status.Code(err); c != codes.Unknown {
		return c
	}
	return status.FromContextError(err).Code()
}

// wrapping matches what gRPC puts around the cause of a failed connection.
var wrapping = regexp.MustCompile(`^(?:latest balancer error: )?connection error: desc = "(?:transport: )?(.*)"$`)

// plain strips gRPC's wrapping from a message.
func plain(err error) string {
	s := rpctypes.ErrorDesc(err)
	if m := wrapping.FindStringSubmatch(s); m != nil {
		s = strings.ReplaceAll(m[1], `\"`, `"`)
		s = strings.TrimPrefix(s, "Error while dialing: ")
		s = strings.Replace(s, "authentication handshake failed: ", "TLS: ", 1)
		s = strings.Replace(s, "tls: failed to verify certificate: x509: ", "", 1)
		s, _, _ = strings.Cut(s, " (possibly because of ")
	}
	return locks.Printable(s)
}
