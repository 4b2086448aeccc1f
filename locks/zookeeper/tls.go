package zookeeper

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// tlsConfig is nil unless something was said that only makes sense with TLS.
func tlsConfig(u *url.URL, getenv func(string) string) (*tls.Config, error) {
	explicit, serverName := u.Query().Get("tls"), u.Query().Get("servername")
	ca, caName := setting(u, getenv, "cacert", "LEADERRUN_ZK_CACERT")
	cert, certName := setting(u, getenv, "cert", "LEADERRUN_ZK_CERT")
	key, _ := setting(u, getenv, "key", "LEADERRUN_ZK_KEY")
	switch {
	case explicit != "" && explicit != "true" && explicit != "false":
		return nil, usage("zk parameter tls=%q is neither true nor false", locks.Abbreviate(explicit))
	case (cert == "") != (key == ""):
		return nil, usage("a zk client certificate needs both cert and key (LEADERRUN_ZK_CERT and LEADERRUN_ZK_KEY)")
	case explicit == "false", explicit == "" && ca == "" && cert == "" && serverName == "":
		return nil, nil
	}
	c := &tls.Config{ServerName: serverName, MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, usage("%s: %v", caName, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usage("%s: no certificate in %s", caName, ca)
		}
	}
	if cert == "" {
		return c, nil
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return nil, usage("%s: %v", certName, err)
	}
	// Read anew for each connection: a job may run for longer than a
	// certificate is valid.
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, err
	}
	return c, nil
}

// security tells how a connection is encrypted, "1.3" or "" for not at all, and
// when the first of the certificates ends that it takes.
func security(c net.Conn, config *tls.Config) (version string, expires time.Time) {
	secure, ok := c.(*tls.Conn)
	if !ok {
		return "", time.Time{}
	}
	state := secure.ConnectionState()
	var all []*x509.Certificate
	if len(state.VerifiedChains) > 0 {
		all = state.VerifiedChains[0]
	}
	if config.GetClientCertificate != nil {
		if own, err := config.GetClientCertificate(nil); err == nil && own.Leaf != nil {
			all = append(all[:len(all):len(all)], own.Leaf)
		}
	}
	for _, cert := range all {
		if expires.IsZero() || cert.NotAfter.Before(expires) {
			expires = cert.NotAfter
		}
	}
	return strings.TrimPrefix(tls.VersionName(state.Version), "TLS "), expires
}
