package etcd

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/proxy"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
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
	return queue.Fault{
		Explained: l.explain(err), Transient: passes || transient(err),
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

// files is what the variables that name the files of TLS begin with.
const files = "ETCDCTL_"

const (
	hintPassword = "check the user and the password, best given in ETCDCTL_USER and ETCDCTL_PASSWORD"
	hintRights   = "the user needs to read and write all keys under the prefix: etcdctl role grant-permission ROLE readwrite --prefix=true "
	hintPort     = "check the port; etcd serves clients on 2379 unless told otherwise"
)

// allCauses returns the causes of errors of a connection, with or without TLS; the first that
// matches an error counts. gRPC and etcd distinguish causes only by their text.
func allCauses(tls bool) (all []causes.Cause) {
	closed := causes.Cause{Text: "the server closed the connection at once", Hint: tlsfiles.HintTLS(files)}
	if tls {
		closed = causes.Cause{Text: "TLS: the server closed the connection after the handshake", Hint: tlsfiles.HintCert(files)}
		alien := causes.Cause{Pattern: "remote error: tls: no application protocol", Text: "an HTTPS server answered, not etcd", Hint: hintPort}
		all = append(tlsfiles.Causes(files), alien)
	}
	for _, closed.Pattern = range []string{"error reading server preface: EOF", "error reading server preface: connection reset", "write: broken pipe", "write: connection reset"} {
		all = append(all, closed)
	}
	return slices.Concat(all, causes.Connecting("etcd"), []causes.Cause{
		{Pattern: "looked like an HTTP/1.1 header", Text: "an HTTP server answered, not etcd", Hint: hintPort},
		{Pattern: "http2: frame too large", Text: "something that is not etcd answered", Hint: hintPort},
		{Pattern: "error reading server preface: http2:", Text: "something that is not etcd answered", Hint: hintPort},
		{Pattern: "use of closed network connection", Text: "the server accepts the connection but does not answer", Hint: causes.HintSilent},
		{Pattern: "i/o timeout", Hint: causes.HintSilent},
		{Pattern: "error reading server preface: read ", Text: closed.Text, Hint: closed.Hint}, // a reset, with addresses
		{Pattern: "unknown service etcdserverpb", Text: "a gRPC server answered that is not etcd 3", Hint: hintPort},
		{Pattern: "unexpected HTTP status code", Text: "an HTTP server answered, not etcd", Hint: hintPort},
		{Pattern: "etcdserver: authentication failed", Kind: causes.Denied, Hint: hintPassword},
		{Pattern: "etcdserver: user name is empty", Kind: causes.Denied, Text: "the server wants a user and a password", Hint: "set ETCDCTL_USER and ETCDCTL_PASSWORD"},
		{Pattern: "etcdserver: user name not found", Kind: causes.Denied, Hint: hintPassword},
		{Pattern: "etcdserver: invalid auth token", Kind: causes.Denied, Hint: hintPassword},
		{Pattern: "etcdserver: permission denied", Kind: causes.Denied, Hint: hintRights + "PREFIX/"},
		{Pattern: "etcdserver: mvcc: database space exceeded", Hint: "the server refuses writes: compact, defragment, then etcdctl alarm disarm"},
		{Pattern: "etcdserver: rpc not supported for learner", Text: "the member is a learner, which has no vote and refuses locks", Hint: "give the address of a voting member, or let this one vote: etcdctl member promote ID"},
		{Pattern: errProxy.Error(), Hint: "give the addresses of the servers themselves, or use --ttl " + proxyTTL + " or more"},
		{Pattern: "etcdserver: no leader", Hint: "the cluster has no quorum now"},
	})
}
