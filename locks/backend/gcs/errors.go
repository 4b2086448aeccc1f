package gcs

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"cloud.google.com/go/auth"
	"google.golang.org/api/googleapi"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/proxy"
)

// A credentialsError says that there are no usable credentials.
type credentialsError struct{ error }

// A searchError says that looking for credentials has taken too long.
type searchError struct{ error }

func (e *searchError) Error() string { return "looking for credentials: " + e.error.Error() }

// A bucketError says that the bucket does not exist.
type bucketError struct{ error }

// A roomError says that the object has no room for the record.
type roomError struct{ error }

func (e *credentialsError) Unwrap() error { return e.error }
func (e *searchError) Unwrap() error      { return e.error }
func (e *bucketError) Unwrap() error      { return e.error }
func (e *roomError) Unwrap() error        { return e.error }

// Fault implements [caslease.Store].
func (s *store) Fault(err error) causes.Fault {
	f := causes.Of(err, plain(err), allCauses(), causes.IsContext(err))
	if causes.Is[*url.Error](err) { // there was no answer
		f.Hint = proxy.Hint(f.Hint, s.settings.service())
	}
	return f
}

// status returns the HTTP status of an error, or 0 if it has none.
func status(err error) int {
	if e, ok := errors.AsType[*googleapi.Error](err); ok {
		return e.Code
	}
	return 0
}

// missing reports whether the service says that something does not exist.
func missing(err error) bool { return status(err) == http.StatusNotFound && !alien(err) }

// alien reports whether err is a 404 that is not the service's: a load balancer that
// cannot reach the service also answers 404, which proves nothing about the object. The
// service's own 404 has a message.
func alien(err error) bool {
	e, ok := errors.AsType[*googleapi.Error](err)
	return ok && e.Code == http.StatusNotFound && e.Message == ""
}

// bucketMissing reports whether the bucket does not exist. When an object is read, only
// the text of the answer tells this from a missing object.
func bucketMissing(err error) bool {
	e, ok := errors.AsType[*googleapi.Error](err)
	return causes.Is[*bucketError](err) || ok && e.Code == http.StatusNotFound && strings.Contains(e.Message+e.Body, "bucket does not exist")
}

// throttle reports whether the service refused a request because it came too soon.
func throttle(err error) bool {
	return status(err) == http.StatusTooManyRequests || status(err) == http.StatusForbidden && reasoned("rateLimitExceeded", "userRateLimitExceeded")(err)
}

// unresolved reports whether a host name has no address. It is false for a lookup that
// timed out, because the next one may succeed.
func unresolved(err error) bool { return causes.Is[*net.DNSError](err) && causes.NoConnection(err) }

// tokenRefused reports whether the server that issues access tokens refused our
// credentials.
func tokenRefused(err error) bool {
	e, ok := errors.AsType[*auth.Error](err)
	return ok && e.Response != nil && e.Response.StatusCode != http.StatusTooManyRequests && e.Response.StatusCode < 500
}

func coded(codes ...int) func(error) bool {
	return func(err error) bool { return slices.Contains(codes, status(err)) }
}

func reasoned(reasons ...string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*googleapi.Error](err)
		return ok && slices.ContainsFunc(e.Errors, func(item googleapi.ErrorItem) bool { return slices.Contains(reasons, item.Reason) })
	}
}

func saying(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

// plain returns the text of an error without what the SDK adds.
func plain(err error) string {
	if e, ok := errors.AsType[*googleapi.Error](err); ok {
		text := cmp.Or(e.Message, http.StatusText(e.Code), "no reason given")
		return locks.Printable(fmt.Sprintf("%s (HTTP %d)", strings.TrimRight(strings.TrimSpace(text), "."), e.Code))
	}
	if e, ok := errors.AsType[*url.Error](err); ok { // its text has the whole address, with the object's name escaped twice
		return locks.Printable(e.Err.Error())
	}
	return locks.Printable(err.Error())
}
