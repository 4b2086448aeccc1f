package etcd

import (
	"slices"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

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
		{Pattern: "etcdserver: authentication failed", Denied: true, Hint: hintPassword},
		{Pattern: "etcdserver: user name is empty", Denied: true, Text: "the server wants a user and a password", Hint: "set ETCDCTL_USER and ETCDCTL_PASSWORD"},
		{Pattern: "etcdserver: user name not found", Denied: true, Hint: hintPassword},
		{Pattern: "etcdserver: invalid auth token", Denied: true, Hint: hintPassword},
		{Pattern: "etcdserver: permission denied", Denied: true, Hint: hintRights + "PREFIX/"},
		{Pattern: "etcdserver: mvcc: database space exceeded", Hint: "the server refuses writes: compact, defragment, then etcdctl alarm disarm"},
		{Pattern: "etcdserver: rpc not supported for learner", Text: "the member is a learner, which has no vote and refuses locks", Hint: "give the address of a voting member, or let this one vote: etcdctl member promote ID"},
		{Pattern: errProxy.Error(), Hint: "give the addresses of the servers themselves, or use --ttl " + proxyTTL + " or more"},
		{Pattern: "etcdserver: no leader", Hint: "the cluster has no quorum now"},
	})
}
