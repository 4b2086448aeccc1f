package zookeeper_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

const password, wrongPassword = "opensesame", "closedsesame"

type troubled drive.Trouble

// TestConnect checks ways to connect that work, and others, each of which has its class,
// one line that names its cause, and a hint.
func TestConnect(t *testing.T) {
	t.Parallel()
	s := startServers(t)
	for name, url := range s.connections(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connects(t, url)
		})
	}
	m := drive.Manner{Open: zookeeper.Open, Options: options("a"), Later: 4 * time.Second, Secrets: []string{password, wrongPassword}, Noise: []string{"zk: "}}
	for _, tt := range s.troubles(t) {
		tt.URL = "zk://" + tt.URL
		m.Options.ConnectTimeout = 10 * time.Second // far longer than an answer takes
		if tt.Slow {
			m.Options.ConnectTimeout = 2 * time.Second
		}
		drive.Trouble(tt).Test(t, m)
	}
}

// servers are servers with different settings.
type servers struct {
	ca                              *realserver.CA
	plain, secure, mutual, misnamed *zktest.Server
}

func startServers(t *testing.T) servers {
	ca := realserver.NewCA(t)
	secured := func(name string, c realserver.Cert, clientCA string) *zktest.Server {
		cert, key := ca.Issue(name, c)
		return zktest.Start(t, zktest.Options{TLS: &zktest.TLS{CertFile: cert, KeyFile: key, ClientCAFile: clientCA}})
	}
	return servers{
		ca:       ca,
		plain:    zktest.Start(t, zktest.Options{}),
		secure:   secured("server", realserver.Cert{}, ""),
		mutual:   secured("mutual", realserver.Cert{}, ca.CertFile),
		misnamed: secured("misnamed", realserver.Cert{Hosts: []string{"zk.example"}}, ""),
	}
}

// connections returns URLs that work, without zk://.
func (s servers) connections(t *testing.T) map[string]string {
	client, key := s.ca.Issue("client", realserver.Cert{})
	names.set("zk.example", "127.0.0.9", "127.0.0.1")
	trust := "?cacert=" + s.ca.CertFile
	return map[string]string{
		"plain":              s.plain.Addr(),
		"one of two servers": drive.Nobody(t) + "," + s.plain.Addr() + "/deep/er",
		"user":               "user:" + password + "@" + s.plain.Addr() + "/ours",
		"TLS":                s.secure.Addr() + "/tls" + trust,
		"TLS and user":       "user:" + password + "@" + s.secure.Addr() + "/ours" + trust + "&servername=localhost",
		"name of addresses":  "zk.example:" + portOf(s.misnamed) + trust,
		"client certificate": s.mutual.Addr() + trust + "&cert=" + client + "&key=" + key,
	}
}

func connects(t *testing.T, url string) {
	l := open(t, "zk://"+url, options("a"))
	drive.Hold(t, l)
	drive.Renew(t, l)
	_, err := open(t, "zk://"+url, options("b")).Acquire(drive.Context(t), true)
	heldBy(t, err, "a")
	drive.Release(t, l)
}

func (s servers) troubles(t *testing.T) []troubled {
	plain, secure, mutual, misnamed, other := s.plain, s.secure, s.mutual, s.misnamed, realserver.NewCA(t)
	owner := open(t, "zk://user:"+password+"@"+plain.Addr()+"/mine", options("owner"))
	drive.Hold(t, owner)
	alone := zktest.StartMinority(t, zktest.Options{})
	trust := "?cacert=" + s.ca.CertFile

	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	silent := drive.Listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	httpd := drive.Listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	ssh := drive.Listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n") })
	// The alert handshake_failure, with which newer Java refuses a client without a certificate.
	refuses := drive.Listen(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "\x15\x03\x03\x00\x02\x02\x28")
	})
	hangup := drive.Listen(t, func(c net.Conn) { c.Close() })
	hole := faultproxy.New(t, plain.Addr())
	hole.CutAll()
	down := drive.Nobody(t)
	names.set("zk.other", "127.0.0.1")

	return []troubled{
		{"server down", down, locks.ErrUnavailable, "connection refused", "check that ZooKeeper runs", false},
		{"all servers down", down + "," + drive.Nobody(t), locks.ErrUnavailable, "connection refused", "check that ZooKeeper runs", false},
		{"no such host", "no-such-host.invalid:2181", locks.ErrUnavailable, "no such host", "spelling", true},
		{"HTTP server", httpd, locks.ErrUnavailable, "an HTTP server answered", "check the port", false},
		{"patient HTTP server", web.Listener.Addr().String(), locks.ErrUnavailable, "answer", "check the address", true},
		{"SSH server", ssh, locks.ErrUnavailable, "something that is not ZooKeeper answered", "check the port", false},
		{"closes at once", hangup, locks.ErrUnavailable, "closed the connection at once", "no quorum", true},
		{"no quorum", alone[0].Addr(), locks.ErrUnavailable, "closed the connection at once", "no quorum", true},
		{"silent server", silent, locks.ErrUnavailable, "answer", "check the address", true},
		{"black hole", hole.Addr(), locks.ErrUnavailable, "answer", "check the address", true},
		{"black hole with TLS", hole.Addr() + "?tls=true", locks.ErrUnavailable, "answer", "check the address", true},
		{"plain to TLS port", secure.Addr(), locks.ErrUnavailable, "closed the connection at once", "TLS", true},
		{"TLS to plain port", plain.Addr() + trust, locks.ErrUnavailable, "during the handshake", "does not speak TLS", true},
		{"TLS to HTTP server", web.Listener.Addr().String() + trust, locks.ErrUnavailable, "does not speak it", "does not speak TLS", false},
		{"unknown CA", secure.Addr() + "?cacert=" + other.CertFile, locks.ErrUnavailable, "signed by unknown authority", "cacert=FILE", false},
		{"other address in certificate", misnamed.Addr() + trust, locks.ErrUnavailable, "IP SANs", "servername=NAME", false},
		{"other name in certificate", "zk.other:" + portOf(misnamed) + trust, locks.ErrUnavailable, "valid for zk.example, not zk.other", "servername=NAME", false},
		{"no client certificate", mutual.Addr() + trust, locks.ErrDenied, "client certificate", "cert=FILE", false},
		{"no client certificate, to newer Java", refuses + trust, locks.ErrDenied, "client certificate", "cert=FILE", false},
		{"wrong password", "user:" + wrongPassword + "@" + plain.Addr() + "/mine", locks.ErrDenied, "/mine", "ZK_AUTH", false},
		{"no user", plain.Addr() + "/mine", locks.ErrDenied, "/mine", "ZK_AUTH", false},
		{"not there", plain.Addr() + "/mine/below", locks.ErrDenied, "/mine", "ZK_AUTH", false},
	}
}
