package etcd

import (
	"net/url"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// newTLS returns nil for connections without TLS. The parameter tls decides, then the
// scheme of the servers' URLs, and then, as in etcdctl, whether there is any setting that
// only makes sense with TLS.
func newTLS(u *url.URL, getenv func(string) string, scheme string) (*tlsfiles.Source, error) {
	s, err := tlsfiles.Parse(u, getenv, files)
	if err != nil {
		return nil, err
	}
	if s.Insecure, err = locks.Boolean(getenv, "ETCDCTL_INSECURE_SKIP_TLS_VERIFY", false); err != nil {
		return nil, err
	}
	plain, err := locks.Boolean(getenv, "ETCDCTL_INSECURE_TRANSPORT", true)
	if err != nil {
		return nil, err
	}
	on := s.On() || !plain && s.Explicit == ""
	if scheme != "" && s.Explicit == "" {
		on = scheme == "https"
	}
	if !on {
		return nil, nil
	}
	return s.Open()
}
