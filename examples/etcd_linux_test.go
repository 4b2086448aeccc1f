package examples

import (
	"regexp"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// A lockServer is an etcd that requires client certificates.
type lockServer struct {
	*etcdtest.Server
	ca, cert, key string // files
}

func startEtcd(t *testing.T) *lockServer {
	t.Helper()
	ca := realserver.NewCA(t)
	s := &lockServer{ca: ca.CertFile}
	cert, key := ca.Issue("server", realserver.Cert{})
	s.Server = etcdtest.Start(t, etcdtest.Options{TLS: &etcdtest.TLS{CertFile: cert, KeyFile: key, ClientCAFile: s.ca}})
	s.cert, s.key = ca.Issue("client", realserver.Cert{})
	return s
}

// environment makes leaderrun use this server.
func (s *lockServer) environment() []string {
	return []string{
		"LEADERRUN_BACKEND=etcd", "ETCDCTL_ENDPOINTS=" + s.Endpoint(),
		"ETCDCTL_CACERT=" + s.ca, "ETCDCTL_CERT=" + s.cert, "ETCDCTL_KEY=" + s.key,
	}
}

// servers matches the addresses of etcd in the examples.
var servers = regexp.MustCompile(`((https://)?etcd[-0-9a-z.]*:2379)(,(https://)?etcd[-0-9a-z.]*:2379)*`)

// here puts this server and its files in place of those that an example names.
func (s *lockServer) here(text string) string {
	text = servers.ReplaceAllString(text, "${2}"+s.Addr())
	return strings.NewReplacer("/etc/leaderrun/tls/ca.crt", s.ca,
		"/etc/leaderrun/tls/client.crt", s.cert, "/etc/leaderrun/tls/client.key", s.key).Replace(text)
}
