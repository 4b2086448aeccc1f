package gcs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"cloud.google.com/go/auth"
	"google.golang.org/api/googleapi"

	"github.com/leaderrun/leaderrun/locks"
)

// How a term ended.
const (
	errReleased    = locks.LostError("the handle was released")
	errNotHeld     = locks.LostError("the lock is not held")
	errClosed      = locks.LostError("the handle was closed")
	errExpired     = locks.LostError("the lease ran out before it was renewed")
	errDeleted     = locks.LostError("the object was deleted")
	errOverwritten = locks.LostError("the object was overwritten by someone else")
	errTaken       = locks.LostError("someone else has taken the lock over")
	errFreed       = locks.LostError("someone else has marked the lock as free")
)

var errContended = errors.New("the object is being changed by someone else all the time")

// A foreignError is about an object that is in the way: what it says of the
// lock's state cannot be believed, and to guess could mean two holders.
type foreignError struct {
	c   *client
	why error
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("the object gs://%s/%s %v", e.c.s.bucket, e.c.name, e.why)
}

// A bucketError says that there is no such bucket.
type bucketError struct{ err error }

func (e *bucketError) Error() string { return e.err.Error() }
func (e *bucketError) Unwrap() error { return e.err }

// status is the HTTP status of an error, or 0.
func status(err error) int {
	if e, ok := errors.AsType[*googleapi.Error](err); ok {
		return e.Code
	}
	return 0
}

// stale reports that a write was refused because the object is not as it was.
func stale(err error) bool {
	return status(err) == http.StatusPreconditionFailed || missing(err) && !bucketMissing(err)
}

// missing reports that the service says that something is not there.
func missing(err error) bool { return status(err) == http.StatusNotFound && !alien(err) }

// alien reports a 404 that is not the service's: a load balancer that has lost
// its way to the service says that, too, and it proves nothing about the object.
// The service's own has a message.
func alien(err error) bool {
	e, ok := errors.AsType[*googleapi.Error](err)
	return ok && e.Code == http.StatusNotFound && e.Message == ""
}

// gone reports that the lock is surely not ours.
func gone(err error) bool { return errors.Is(err, locks.ErrLost) }

// bucketMissing reports that it is the bucket that there is not. Reading an
// object of it, the service says so by its text alone.
func bucketMissing(err error) bool {
	if _, ok := errors.AsType[*bucketError](err); ok {
		return true
	}
	e, ok := errors.AsType[*googleapi.Error](err)
	return ok && e.Code == http.StatusNotFound && strings.Contains(e.Message+e.Body, "bucket does not exist")
}

// throttle reports that the service refused a request because it came too soon.
func throttle(err error) bool {
	return status(err) == http.StatusTooManyRequests || status(err) == http.StatusForbidden && hasReason(err, "rateLimitExceeded", "userRateLimitExceeded")
}

// refused reports that a request surely had no effect: the service said so, or
// there was no connection to send it on. Of what failed otherwise (no answer, a
// 500) that is not known.
func refused(err error) bool {
	code := status(err)
	return 400 <= code && code < 500 && code != http.StatusRequestTimeout || unreachable(err)
}

// unreachable reports that no connection could be made.
func unreachable(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && !op.Timeout()
}

// transient reports that the same request may succeed soon.
func transient(err error) bool {
	if isA[*credentialsError](err) || isA[*unmovedError](err) {
		return false
	}
	if e, ok := errors.AsType[*auth.Error](err); ok && e.Response != nil {
		return e.Response.StatusCode == http.StatusTooManyRequests || e.Response.StatusCode >= 500
	}
	code := status(err)
	return code == 0 || code == http.StatusRequestTimeout || code >= 500 || throttle(err) || alien(err)
}

func hasReason(err error, reasons ...string) bool {
	e, ok := errors.AsType[*googleapi.Error](err)
	if !ok {
		return false
	}
	for _, item := range e.Errors {
		for _, r := range reasons {
			if item.Reason == r {
				return true
			}
		}
	}
	return false
}

func isContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// fail adds what an error needs at the boundary of the backend. If the
// caller's context has ended, that is what the error wraps.
func (l *Lock) fail(ctx context.Context, op string, err error) error {
	e := l.explain(err)
	e.Op, e.Backend, e.Name = op, l.addr, l.o.Name
	ended := ctx.Err()
	switch {
	case ended == nil, errors.Is(err, locks.ErrLost):
	case isContext(err): // no cause is known
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
	for _, c := range causes() {
		if c.is(err) {
			return &locks.Error{Class: c.class, Err: errors.New(cmp.Or(c.text, plain(err))), Hint: c.hint}
		}
	}
	if isContext(err) {
		return &locks.Error{Class: locks.ErrUnavailable, Err: fmt.Errorf("no answer within %v", l.o.ConnectTimeout), Hint: hintSilent}
	}
	return &locks.Error{Class: locks.ErrUnavailable, Err: errors.New(plain(err))}
}

// plain is the text of an error without what the SDK puts around it.
func plain(err error) string {
	if e, ok := errors.AsType[*googleapi.Error](err); ok {
		text := cmp.Or(e.Message, http.StatusText(e.Code), "no reason given")
		return locks.Printable(fmt.Sprintf("%s (HTTP %d)", strings.TrimRight(strings.TrimSpace(text), "."), e.Code))
	}
	if e, ok := errors.AsType[*url.Error](err); ok { // its text has the whole address, and the object's name twice escaped
		return locks.Printable(e.Err.Error())
	}
	return locks.Printable(err.Error())
}
