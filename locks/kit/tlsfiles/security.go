package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"time"
)

// Security returns a connection's version of TLS, such as "1.3", and when the first of the
// certificates expires on which the connection depends: the server's, the CAs', and ours, if
// we have one. If there are several chains, the one that lasts longest counts. A connection
// that is not verified depends only on ours.
func Security(c tls.ConnectionState, ours *tls.Certificate) (version string, ends time.Time) {
	var all []*x509.Certificate
	for _, chain := range c.VerifiedChains {
		if firstEnd(chain).After(firstEnd(all)) {
			all = slices.Clone(chain)
		}
	}
	if ours != nil {
		for _, der := range ours.Certificate {
			if cert, err := x509.ParseCertificate(der); err == nil {
				all = append(all, cert)
			}
		}
	}
	return strings.TrimPrefix(tls.VersionName(c.Version), "TLS "), firstEnd(all)
}

// firstEnd returns when the first certificate expires, or zero if there is none.
func firstEnd(all []*x509.Certificate) (end time.Time) {
	for _, c := range all {
		if end.IsZero() || c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end
}
