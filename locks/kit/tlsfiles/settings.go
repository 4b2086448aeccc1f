package tlsfiles

import (
	"net/url"

	"github.com/leaderrun/leaderrun/locks"
)

// Settings are what a URL and the environment say about TLS.
type Settings struct {
	Explicit   string // the parameter tls: "true", "false" or ""
	ServerName string // expected in the server's certificate; "": the host
	Insecure   bool   // the server's certificate is not verified

	// Files in PEM; "": none.
	CA        string // the CAs that may have signed the server's certificate
	Cert, key string // our certificate and its key: both or neither

	caName, certName string // the settings that named them
}

// Parse parses the parameters tls, servername, cacert, cert and key. Instead of the last three
// there may be variables, such as ETCDCTL_CACERT, whose names begin with the prefix. Errors
// wrap locks.ErrUsage.
func Parse(u *url.URL, getenv func(string) string, prefix string) (*Settings, error) {
	s := &Settings{Explicit: u.Query().Get("tls"), ServerName: u.Query().Get("servername")}
	s.CA, s.caName = locks.Setting(u, getenv, "cacert", prefix+"CACERT")
	s.Cert, s.certName = locks.Setting(u, getenv, "cert", prefix+"CERT")
	s.key, _ = locks.Setting(u, getenv, "key", prefix+"KEY")
	switch {
	case s.Explicit != "" && s.Explicit != "true" && s.Explicit != "false":
		return nil, locks.Usagef("%s parameter tls=%q is neither true nor false", u.Scheme, locks.Abbreviate(s.Explicit))
	case (s.Cert == "") != (s.key == ""):
		return nil, locks.Usagef("a client certificate for %s needs both cert and key (%sCERT and %sKEY)", u.Scheme, prefix, prefix)
	}
	return s, nil
}

// On reports whether to use TLS. If the parameter tls is missing, that is so if there is any
// setting that makes sense only with TLS.
func (s *Settings) On() bool {
	if s.Explicit != "" {
		return s.Explicit == "true"
	}
	return s.CA != "" || s.Cert != "" || s.ServerName != "" || s.Insecure
}
