package etcd

import (
	"crypto/tls"
	"net/url"
	"strconv"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/tlsfiles"
)

// A tlsWish is what was said about TLS.
type tlsWish struct {
	explicit         string // the parameter tls: "true", "false" or ""
	ca, cert, key    string // files
	caName, certName string // where they were said
	serverName       string
	insecure         bool // ETCDCTL_INSECURE_SKIP_TLS_VERIFY
	secure           bool // ETCDCTL_INSECURE_TRANSPORT=false
}

func wantTLS(u *url.URL, getenv func(string) string) (*tlsWish, error) {
	w := &tlsWish{explicit: u.Query().Get("tls"), serverName: u.Query().Get("servername")}
	if w.explicit != "" && w.explicit != "true" && w.explicit != "false" {
		return nil, usage("etcd parameter tls=%q is neither true nor false", locks.Abbreviate(w.explicit))
	}
	w.ca, w.caName = setting(u, getenv, "cacert", "ETCDCTL_CACERT")
	w.cert, w.certName = setting(u, getenv, "cert", "ETCDCTL_CERT")
	w.key, _ = setting(u, getenv, "key", "ETCDCTL_KEY")
	if (w.cert == "") != (w.key == "") {
		return nil, usage("an etcd client certificate needs both cert and key (ETCDCTL_CERT and ETCDCTL_KEY)")
	}
	var err error
	if w.insecure, err = boolean(getenv, "ETCDCTL_INSECURE_SKIP_TLS_VERIFY", false); err != nil {
		return nil, err
	}
	plain, err := boolean(getenv, "ETCDCTL_INSECURE_TRANSPORT", true)
	if err != nil {
		return nil, err
	}
	w.secure = !plain
	return w, nil
}

func boolean(getenv func(string) string, variable string, otherwise bool) (bool, error) {
	v := getenv(variable)
	if v == "" {
		return otherwise, nil
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, usage("%s=%q is neither true nor false", variable, locks.Abbreviate(v))
	}
	return b, nil
}

// on decides: the parameter tls, then the endpoints' own scheme, and then, as
// etcdctl does, whether anything was said that only makes sense with TLS.
func (w *tlsWish) on(addrs []endpoint) bool {
	if w.explicit != "" {
		return w.explicit == "true"
	}
	if scheme := addrs[0].scheme; scheme != "" {
		return scheme == "https"
	}
	return w.ca != "" || w.cert != "" || w.serverName != "" || w.insecure || w.secure
}

// source reads the files.
func (w *tlsWish) source() (*tlsfiles.Source, error) {
	s, err := tlsfiles.Open(
		&tls.Config{ServerName: w.serverName, MinVersion: tls.VersionTLS12, InsecureSkipVerify: w.insecure}, //nolint:gosec // if the user said so
		tlsfiles.Files{CA: w.ca, Cert: w.cert, Key: w.key, CAName: w.caName, CertName: w.certName},
	)
	if err != nil {
		return nil, usage("%v", err)
	}
	return s, nil
}
