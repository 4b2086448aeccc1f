package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"time"
)

// Security tells the version of TLS that a connection has, "1.3", and when the first of the
// certificates ends on which it depends: the server's, those that vouch for it, and ours, if
// there is one. Of several chains one is enough. Without verification it depends on none.
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

// firstEnd is zero if there are none.
func firstEnd(all []*x509.Certificate) (end time.Time) {
	for _, c := range all {
		if end.IsZero() || c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end
}
