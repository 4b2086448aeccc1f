package tlsfiles

import "github.com/leaderrun/leaderrun/locks/kit/causes"

// HintTLS returns the hint for a connection without TLS to a server that may require TLS. The
// prefix is that of the variables, as in Parse.
func HintTLS(prefix string) string {
	return "if the server speaks TLS, give its CA with cacert=FILE or in " + prefix + "CACERT, or set tls=true"
}

// HintCert returns the hint for a server that requires a client certificate.
func HintCert(prefix string) string {
	return "give a client certificate that the server trusts with cert=FILE and key=FILE, or in " + prefix + "CERT and " + prefix + "KEY"
}

// Causes returns the causes of errors in a handshake. Their texts begin with "TLS: ".
func Causes(prefix string) []causes.Cause {
	const (
		name  = "connect by a name that is in the server's certificate, or give one with servername=NAME"
		plain = "if the server does not speak TLS, omit cacert, cert, key, servername and tls, or set tls=false"
		cut   = "TLS: the server closed the connection during the handshake"
	)
	cert := HintCert(prefix)
	all := []causes.Cause{
		{Pattern: "remote error: tls: certificate required", Kind: causes.Denied, Text: "TLS: the server wants a client certificate", Hint: cert},
		// Older servers say this also if there was no certificate.
		{Pattern: "remote error: tls: bad certificate", Kind: causes.Denied, Text: "TLS: the server wants a client certificate that it trusts", Hint: cert},
		{Pattern: "certificate signed by unknown authority", Hint: "give the CA that signed the server's certificate with cacert=FILE or in " + prefix + "CACERT"},
		{Pattern: "certificate has expired or is not yet valid", Hint: "renew the server's certificate, or correct this machine's clock"},
		{Pattern: "because it doesn't contain any IP SANs", Hint: name},
		{Pattern: "certificate is valid for ", Hint: name},
		{Pattern: "certificate is not valid for any names", Hint: name},
		{Pattern: "first record does not look like a TLS handshake", Text: "TLS: the server does not speak it", Hint: plain},
		{Pattern: "TLS: EOF", Text: cut, Hint: plain},
		{Pattern: "TLS: read", Text: cut, Hint: plain},
		{Pattern: "TLS: context deadline exceeded", Text: "TLS: the server does not answer", Hint: causes.HintSilent},
	}
	for _, alert := range []string{"unsupported", "revoked", "expired", "unknown"} { // RFC 8446, section 6.2
		all = append(all, causes.Cause{Pattern: "remote error: tls: " + alert + " certificate", Kind: causes.Denied, Hint: cert})
	}
	return all
}
