package etcd

import (
	"errors"
	"regexp"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/proxy"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// Ways in which a term is lost, in addition to those of package queue.
const (
	errExpired  = locks.LostError("the lease ended on the server")
	errDeleted  = locks.LostError("the key was deleted")
	errReplaced = locks.LostError("somebody else overwrote the key")
)

// Fault implements [queue.Store].
func (l *lock) Fault(err error) queue.Fault {
	broken, passes := err.(brokenWatch) //nolint:errorlint // nothing wraps it
	if passes {
		err = broken.error
	}
	e := l.explain(err)
	return queue.Fault{
		Class: e.Class, Text: e.Err.Error(), Hint: e.Hint, Transient: passes || transient(err),
		Timeout: isContext(err) && !strings.Contains(err.Error(), "connection error"), // no cause is known
	}
}

// explain returns the class of an error, a text in one line, and a hint.
func (l *lock) explain(err error) *locks.Error {
	e := causes.Explain(err, plain(err), allCauses(l.settings.tls != nil), isContext(err), l.o.ConnectTimeout)
	if noAnswer := isContext(err) || code(err) == codes.Unavailable; noAnswer && !causes.Is[rpctypes.EtcdError](err) {
		e.Hint = proxy.GRPC(e.Hint, l.settings.endpoints[0])
	}
	if strings.HasPrefix(e.Hint, hintRights) && !strings.ContainsFunc(l.prefix, special) {
		e.Hint = hintRights + l.prefix
	}
	return e
}

// special reports whether a shell may not take r as it is.
func special(r rune) bool {
	return !strings.ContainsRune("/._-", r) && (r < '0' || '9' < r) && (r < 'A' || 'Z' < r) && (r < 'a' || 'z' < r)
}

func isContext(err error) bool {
	c := code(err)
	return c == codes.DeadlineExceeded || c == codes.Canceled
}

// transient reports whether the same request may succeed soon.
func transient(err error) bool {
	c := code(err)
	return c == codes.Unavailable || c == codes.DeadlineExceeded || errors.Is(err, rpctypes.ErrTooManyRequests)
}

// tooLong reports whether an answer was longer than maxAnswer. gRPC has no other way to say so.
func tooLong(err error) bool {
	return code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "received message larger than max")
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

// wrapping matches the text that gRPC puts around the cause of a failed connection.
var wrapping = regexp.MustCompile(`^(?:latest balancer error: )?connection error: desc = "(?:transport: )?(.*)"$`)

// plain returns the text of an error without gRPC's wrapping.
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
