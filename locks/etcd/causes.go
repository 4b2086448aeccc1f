package etcd

import "slices"

// A cause is something that people meet. gRPC and etcd tell causes apart only
// by their text; a test holds each of these against a real server.
type cause struct {
	pattern string
	denied  bool   // the server refused us: ErrDenied, and not ErrUnavailable
	text    string // what to say instead; "": what was matched is clear enough
	hint    string
}

const (
	hintSilent   = "something there accepts connections and does not answer, or a firewall drops them; check the address"
	hintPassword = "check the user and the password, best given in ETCDCTL_USER and ETCDCTL_PASSWORD"
	hintCert     = "give a client certificate that the server trusts with cert=FILE and key=FILE, or in ETCDCTL_CERT and ETCDCTL_KEY"
	hintPort     = "check the port; etcd serves clients on 2379 unless told otherwise"
	hintPlain    = "if the server does not speak TLS, leave cacert, cert, key, servername and tls away, or set tls=false"
	hintTLS      = "if the server speaks TLS, give its CA with cacert=FILE or in ETCDCTL_CACERT, or set tls=true"
)

// causes lists what is known of a connection with or without TLS; the first
// that matches counts.
func causes(tls bool) []cause {
	if tls {
		return slices.Concat(tlsCauses(), commonCauses())
	}
	return slices.Concat(plainCauses(), commonCauses())
}

func plainCauses() []cause {
	return []cause{
		{pattern: "error reading server preface: EOF", text: "the server closed the connection at once", hint: hintTLS},
		{pattern: "error reading server preface: connection reset", text: "the server closed the connection at once", hint: hintTLS},
		{pattern: "write: broken pipe", text: "the server closed the connection at once", hint: hintTLS},
		{pattern: "write: connection reset", text: "the server closed the connection at once", hint: hintTLS},
	}
}

func tlsCauses() []cause {
	causes := []cause{
		{pattern: "remote error: tls: certificate required", denied: true, text: "TLS: the server wants a client certificate", hint: hintCert},
		{pattern: "remote error: tls: no application protocol", text: "an HTTPS server answered, not etcd", hint: hintPort},
		{pattern: "certificate signed by unknown authority", hint: "give the CA that signed the server's certificate with cacert=FILE or in ETCDCTL_CACERT"},
		{pattern: "certificate has expired or is not yet valid", hint: "renew the server's certificate, or correct this machine's clock"},
		{pattern: "because it doesn't contain any IP SANs", hint: "connect by a name that is in the server's certificate, or give one with servername=NAME"},
		{pattern: "certificate is valid for ", hint: "connect by a name that is in the server's certificate, or give one with servername=NAME"},
		{pattern: "certificate is not valid for any names", hint: "connect by a name that is in the server's certificate, or give one with servername=NAME"},
		{pattern: "first record does not look like a TLS handshake", text: "TLS: the server does not speak it", hint: hintPlain},
		{pattern: "TLS: EOF", text: "TLS: the server closed the connection during the handshake", hint: hintPlain},
		{pattern: "TLS: read: connection reset", text: "TLS: the server closed the connection during the handshake", hint: hintPlain},
		{pattern: "write: broken pipe", text: "TLS: the server closed the connection after the handshake", hint: hintCert},
		{pattern: "write: connection reset", text: "TLS: the server closed the connection after the handshake", hint: hintCert},
		{pattern: "TLS: context deadline exceeded", text: "TLS: the server does not answer", hint: hintSilent},
	}
	for _, alert := range []string{"bad", "unsupported", "revoked", "expired", "unknown"} { // RFC 8446, section 6.2
		causes = append(causes, cause{pattern: "remote error: tls: " + alert + " certificate", denied: true, hint: hintCert})
	}
	return causes
}

func commonCauses() []cause {
	return []cause{
		{pattern: "connection refused", hint: "check that etcd runs there and listens on that address"},
		{pattern: "no such host", hint: "check the spelling of the host name"},
		{pattern: "looked like an HTTP/1.1 header", text: "an HTTP server answered, not etcd", hint: hintPort},
		{pattern: "http2: frame too large", text: "something that is not etcd answered", hint: hintPort},
		{pattern: "error reading server preface: http2:", text: "something that is not etcd answered", hint: hintPort},
		{pattern: "use of closed network connection", text: "the server accepts the connection and does not answer", hint: hintSilent},
		{pattern: "i/o timeout", hint: hintSilent},
		{pattern: "unknown service etcdserverpb", text: "a gRPC server answered that is not etcd 3", hint: hintPort},
		{pattern: "unexpected HTTP status code", text: "an HTTP server answered, not etcd", hint: hintPort},
		{pattern: "etcdserver: authentication failed", denied: true, hint: hintPassword},
		{pattern: "etcdserver: user name is empty", denied: true, text: "the server wants a user and a password", hint: "set ETCDCTL_USER and ETCDCTL_PASSWORD"},
		{pattern: "etcdserver: user name not found", denied: true, hint: hintPassword},
		{pattern: "etcdserver: invalid auth token", denied: true, hint: hintPassword},
		{pattern: "etcdserver: permission denied", denied: true, hint: "the user needs to read and write all keys under the prefix: etcdctl role grant-permission ROLE readwrite --prefix=true PREFIX/"},
		{pattern: "etcdserver: mvcc: database space exceeded", hint: "the server refuses to write: compact, defragment, then etcdctl alarm disarm"},
		{pattern: "etcdserver: rpc not supported for learner", text: "the member is a learner: it has no vote yet, and serves no locks", hint: "give the address of a member that has a vote, or let this one vote: etcdctl member promote ID"},
		{pattern: errProxy.Error(), hint: "give the addresses of the servers themselves, or --ttl " + proxyTTL + " at least"},
		{pattern: "etcdserver: no leader", hint: "the cluster has no quorum at the moment"},
	}
}
