package zookeeper

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"

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
