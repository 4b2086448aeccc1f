package causes

import (
	"errors"
	"net"
)

// Is reports whether an error is or wraps one of type E.
func Is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Unreachable reports whether no connection could be made. It is false for an attempt that
// timed out, because the next one may succeed.
func Unreachable(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && !op.Timeout()
}
