package tlsfiles

import (
	"net/url"

	"github.com/leaderrun/leaderrun/locks"
)

// Settings are what a URL and the environment say about TLS.
type Settings struct {
	Explicit   string // the parameter tls: "true", "false" or ""
	ServerName string // in the server's certificate; "": the host
	Insecure   bool   // the server's certificate is not verified

	// Files in PEM; "" is none.
	CA        string // those who may have signed the server's certificate
	Cert, key string // ours and its key, both or none

	caName, certName string // where they were said
}

// Parse reads the parameters tls, servername, cacert, cert and key. In place of the last
// three there may be variables, whose names begin with a prefix: ETCDCTL_CACERT. Errors wrap
// locks.ErrUsage.
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

// On reports whether to speak TLS: as the parameter tls says, or else if anything was said
// that only makes sense with TLS.
func (s *Settings) On() bool {
	if s.Explicit != "" {
		return s.Explicit == "true"
	}
	return s.CA != "" || s.Cert != "" || s.ServerName != "" || s.Insecure
}
