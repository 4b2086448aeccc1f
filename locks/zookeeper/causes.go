package zookeeper

import "slices"

// A cause is something that people meet. Most can be told apart only by their
// text; a test holds each of these against a real server.
type cause struct {
	pattern string
	denied  bool   // the server refused us: ErrDenied, and not ErrUnavailable
	text    string // what to say instead; "": what was matched is clear enough
	hint    string
}

const (
	hintSilent  = "something there accepts connections and does not answer, or a firewall drops them; check the address"
	hintServing = "the server may have no quorum at the moment, have too many connections from here (maxClientCnxns), or speak TLS on this port"
	hintCert    = "give a client certificate that the server trusts with cert=FILE and key=FILE"
	hintPort    = "check the port; ZooKeeper serves clients on 2181 unless told otherwise"
	hintPlain   = "if the server does not speak TLS on this port, leave cacert, cert, key, servername and tls away, or set tls=false"
	hintTLS     = "if the server speaks TLS on this port, give its CA with cacert=FILE, or set tls=true"
	hintName    = "connect by a name that is in the server's certificate, or give one with servername=NAME"
	hintACL     = "the user (ZK_AUTH, or auth-file=FILE) needs the permissions create, read, write and delete there; see getAcl in zkCli"
)

// causes lists what is known of a connection with or without TLS; the first
// that matches counts.
func causes(tls bool) []cause {
	if tls {
		return slices.Concat(tlsCauses(), commonCauses())
	}
	return commonCauses()
}

func tlsCauses() []cause {
	causes := []cause{
		{pattern: "remote error: tls: certificate required", denied: true, text: "TLS: the server wants a client certificate", hint: hintCert},
		{pattern: "certificate signed by unknown authority", hint: "give the CA that signed the server's certificate with cacert=FILE"},
		{pattern: "certificate has expired or is not yet valid", hint: "renew the server's certificate, or correct this machine's clock"},
		{pattern: "because it doesn't contain any IP SANs", hint: hintName},
		{pattern: "certificate is valid for ", hint: hintName},
		{pattern: "certificate is not valid for any names", hint: hintName},
		{pattern: "first record does not look like a TLS handshake", text: "TLS: the server does not speak it", hint: hintPlain},
		{pattern: "TLS: EOF", text: "TLS: the server closed the connection during the handshake", hint: hintPlain},
		{pattern: "TLS: read", text: "TLS: the server closed the connection during the handshake", hint: hintPlain},
		{pattern: "TLS: context deadline exceeded", text: "TLS: the server does not answer", hint: hintSilent},
	}
	// Java says so, too, if there was no certificate: 17.0.15 the former, 17.0.19 the latter.
	for _, alert := range []string{"bad certificate", "handshake failure"} {
		causes = append(causes, cause{pattern: "remote error: tls: " + alert, denied: true, text: "TLS: the server wants a client certificate that it trusts", hint: hintCert})
	}
	for _, alert := range []string{"unsupported", "revoked", "expired", "unknown"} { // RFC 8446, section 6.2
		causes = append(causes, cause{pattern: "remote error: tls: " + alert + " certificate", denied: true, hint: hintCert})
	}
	return causes
}

func commonCauses() []cause {
	return []cause{
		{pattern: "connection refused", hint: "check that ZooKeeper runs there and listens on that address"},
		{pattern: "no such host", hint: "check the spelling of the host name"},
		{pattern: "an HTTP server answered", hint: hintPort},
		{pattern: "a TLS server answered", hint: hintTLS},
		{pattern: "not ZooKeeper answered", hint: hintPort},
		{pattern: errNotServing.Error(), hint: hintServing},
		{pattern: errSilent.Error(), hint: hintSilent},
		{pattern: "i/o timeout", hint: hintSilent, text: "the server accepts the connection and does not answer"},
		{pattern: "permission denied", denied: true, hint: hintACL},
		{pattern: "client authentication failed", denied: true, hint: hintACL},
		{pattern: "invalid ACL specified", denied: true, hint: hintACL},
	}
}
