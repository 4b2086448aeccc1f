package etcd_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// TestProbeTLS checks that a connection depends on the server's certificate, and on ours if
// there is one.
func TestProbeTLS(t *testing.T) {
	t.Parallel()
	const soon, later = 3 * time.Hour, 5 * time.Hour
	ca := realserver.NewCA(t)
	clientCert, clientKey := ca.Issue("client", realserver.Cert{Lasts: later})
	ours := "&cert=" + clientCert + "&key=" + clientKey
	for _, tt := range []struct {
		name, params string
		server       time.Duration // how long its certificate lasts
		mutual       bool
		want         time.Duration
	}{
		{"server's", "?cacert=" + ca.CertFile, soon, false, soon},
		{"ours first", "?cacert=" + ca.CertFile + ours, later + time.Hour, true, later},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cert, key := ca.Issue("server "+tt.name, realserver.Cert{Lasts: tt.server})
			files := &etcdtest.TLS{CertFile: cert, KeyFile: key}
			if tt.mutual {
				files.ClientCAFile = ca.CertFile
			}
			server := etcdtest.Start(t, etcdtest.Options{TLS: files})
			m := probe(t, server.URL()+tt.params).Servers[0]
			if m.Error != "" || m.TLS != "1.3" || (time.Until(m.Expires)-tt.want).Abs() > time.Hour/2 {
				t.Errorf("ends in %v, want %v: %+v", time.Until(m.Expires), tt.want, m)
			}
		})
	}
	expired, expiredKey := ca.Issue("expired", realserver.Cert{Expired: true})
	server := etcdtest.Start(t, etcdtest.Options{TLS: &etcdtest.TLS{CertFile: expired, KeyFile: expiredKey}})
	m := probe(t, server.URL()+"?cacert="+ca.CertFile).Servers[0]
	if m.Class != "unavailable" || !strings.Contains(m.Error, "expired") || m.TLS != "" || !m.Expires.IsZero() || m.Version != "" {
		t.Errorf("an expired certificate: %+v", m)
	}
}

// TestProbeCertificateUser checks that the name in a client certificate is the user if
// authentication is on. etcd 3.4 does not report whether it is.
func TestProbeCertificateUser(t *testing.T) {
	t.Parallel()
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			off, on, level, user := "is off", `we are "certified"`, "ok", "certified"
			if version == "3.4" {
				off, on, level, user = "cannot find out", "cannot find out", "warning", ""
			}
			ca := realserver.NewCA(t)
			cert, key := ca.Issue("server", realserver.Cert{})
			server := etcdtest.Start(t, etcdtest.Options{Version: version, TLS: &etcdtest.TLS{CertFile: cert, KeyFile: key, ClientCAFile: ca.CertFile}})
			clientCert, clientKey := ca.Issue("certified", realserver.Cert{})
			u := server.URL() + "?cacert=" + ca.CertFile + "&cert=" + clientCert + "&key=" + clientKey
			s := probe(t, u)
			if s.User != "" {
				t.Errorf("without authentication we are %q", s.User)
			}
			found(t, s, "authentication", "warning", off)
			enableAuth(t, server, ca, "certified")
			s = probe(t, u)
			if m := s.Servers[0]; s.User != user || m.Role != "leader" {
				t.Errorf("got %+v", s)
			}
			found(t, s, "authentication", level, on)
		})
	}
}

// enableAuth turns on authentication on a server with TLS. The users have no
// password; user may read the keys under the prefix.
func enableAuth(t *testing.T, s *etcdtest.Server, ca *realserver.CA, user string) {
	t.Helper()
	pem, err := os.ReadFile(ca.CertFile)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	pair, err := tls.LoadX509KeyPair(ca.Issue("root", realserver.Cert{}))
	check(err)
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop(), TLS: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}},
	})
	check(err)
	defer client.Close()
	for _, name := range []string{"root", user} {
		_, err = client.UserAddWithOptions(drive.Context(t), name, "", &clientv3.UserAddOptions{NoPassword: true})
		check(err)
		_, err = client.RoleAdd(drive.Context(t), name)
		check(err)
		_, err = client.UserGrantRole(drive.Context(t), name, name)
		check(err)
	}
	_, err = client.RoleGrantPermission(drive.Context(t), user, "/leaderrun/", clientv3.GetPrefixRangeEnd("/leaderrun/"), clientv3.PermissionType(clientv3.PermRead))
	check(err)
	_, err = client.AuthEnable(drive.Context(t))
	check(err)
}
