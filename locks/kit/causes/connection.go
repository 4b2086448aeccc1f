package causes

import (
	"context"
	"errors"
	"net"
)

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
