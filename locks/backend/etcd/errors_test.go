package etcd_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

const (
	password      = "pa55-w0rd"
	wrongPassword = "wr0ng-w0rd"
)

type troubled drive.Trouble

func TestErrors(t *testing.T) {
	t.Parallel()
	m := drive.Manner{
		Open: etcd.Open, Options: options("a"), Later: 1500 * time.Millisecond, Secrets: []string{password, wrongPassword},
		Noise: []string{"rpc error", "desc =", "transport:", "balancer", "etcdserverpb", "EOF"},
	}
	m.Options.ConnectTimeout = time.Second
	for _, tt := range troubles(t) {
		tt.URL = "etcd://" + tt.URL
		drive.Trouble(tt).Test(t, m)
	}
}

func troubles(t *testing.T) []troubled {
	ca, other := realserver.NewCA(t), realserver.NewCA(t)
	serverTLS := func(name string, c realserver.Cert, clientCA string) *etcdtest.Server {
		cert, key := ca.Issue(name, c)
		return etcdtest.Start(t, etcdtest.Options{TLS: &etcdtest.TLS{CertFile: cert, KeyFile: key, ClientCAFile: clientCA}})
	}
	plain := etcdtest.Start(t, etcdtest.Options{})
	authed := etcdtest.Start(t, etcdtest.Options{})
	authed.EnableAuth("root", etcdtest.User{Name: "user", Password: password, Prefix: "/mine/"}, etcdtest.User{Name: "nobody", Password: password})
	secure := serverTLS("server", realserver.Cert{}, "")
	mutual := serverTLS("mutual", realserver.Cert{}, ca.CertFile)
	expired := serverTLS("expired", realserver.Cert{Expired: true}, "")
	misnamed := serverTLS("misnamed", realserver.Cert{Hosts: []string{"etcd.example"}}, "")
	oldCert, oldKey := ca.Issue("old client", realserver.Cert{Expired: true})
	strangeCert, strangeKey := other.Issue("stranger", realserver.Cert{})
	trust := "?cacert=" + ca.CertFile

	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	webTLS := httptest.NewUnstartedServer(http.NotFoundHandler())
	webTLS.Config.ErrorLog = nil
	webTLS.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	webTLS.StartTLS()
	t.Cleanup(webTLS.Close)
	alien := grpc.NewServer()
	t.Cleanup(alien.Stop)
	alienAddr, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = alien.Serve(alienAddr) }()
	silent := drive.Listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	ssh := drive.Listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n") })
	hangup := drive.Listen(t, func(c net.Conn) { c.Close() })
	hole := faultproxy.New(t, plain.Addr())
	hole.CutAll()
	down := drive.Nobody(t)

	return []troubled{
		{"server down", down, locks.ErrUnavailable, "connection refused", "check that etcd runs", false},
		{"all servers down", down + "," + drive.Nobody(t), locks.ErrUnavailable, "connection refused", "check that etcd runs", false},
		{"no such host", "no-such-host.invalid:2379", locks.ErrUnavailable, "no such host", "spelling", true},
		{"HTTP server", web.Listener.Addr().String(), locks.ErrUnavailable, "an HTTP server answered", "check the port", false},
		{"HTTPS server", webTLS.Listener.Addr().String() + trust, locks.ErrUnavailable, "an HTTPS server answered", "check the port", false},
		{"other gRPC server", alienAddr.Addr().String(), locks.ErrUnavailable, "not etcd", "check the port", false},
		{"SSH server", ssh, locks.ErrUnavailable, "something that is not etcd answered", "check the port", false},
		{"closes at once", hangup, locks.ErrUnavailable, "closed the connection", "TLS", false},
		{"silent server", silent, locks.ErrUnavailable, "answer", "check the address", true},
		{"black hole", hole.Addr(), locks.ErrUnavailable, "answer", "check the address", true},
		{"black hole with TLS", hole.Addr() + "?tls=true", locks.ErrUnavailable, "answer", "check the address", true},
		{"plain to TLS port", secure.Addr(), locks.ErrUnavailable, "closed the connection at once", "if the server speaks TLS", false},
		{"TLS to plain port", plain.Addr() + trust, locks.ErrUnavailable, "during the handshake", "does not speak TLS", false},
		{"TLS to HTTP server", web.Listener.Addr().String() + trust, locks.ErrUnavailable, "does not speak it", "does not speak TLS", false},
		{"unknown CA", secure.Addr() + "?cacert=" + other.CertFile, locks.ErrUnavailable, "signed by unknown authority", "cacert=FILE", false},
		{"system CAs", secure.Addr() + "?tls=true", locks.ErrUnavailable, "signed by unknown authority", "cacert=FILE", false},
		{"expired certificate", expired.Addr() + trust, locks.ErrUnavailable, "expired", "renew the server's certificate", false},
		{"other address in certificate", misnamed.Addr() + trust, locks.ErrUnavailable, "IP SANs", "servername=NAME", false},
		{"other name in certificate", misnamed.Addr() + trust + "&servername=x.example", locks.ErrUnavailable, "valid for etcd.example, not x.example", "servername=NAME", false},
		{"no client certificate", mutual.Addr() + trust, locks.ErrDenied, "wants a client certificate", "cert=FILE", false},
		{"expired client certificate", mutual.Addr() + trust + "&cert=" + oldCert + "&key=" + oldKey, locks.ErrDenied, "expired", "cert=FILE", false},
		{"stranger's client certificate", mutual.Addr() + trust + "&cert=" + strangeCert + "&key=" + strangeKey, locks.ErrDenied, "unknown certificate authority", "cert=FILE", false},
		{"wrong password", "user:" + wrongPassword + "@" + authed.Addr(), locks.ErrDenied, "invalid user ID or password", "ETCDCTL_PASSWORD", false},
		{"no user", authed.Addr(), locks.ErrDenied, "wants a user and a password", "ETCDCTL_USER", false},
		{"no permission", "nobody:" + password + "@" + authed.Addr(), locks.ErrDenied, "permission denied", "grant-permission", false},
		{"no permission here", "user:" + password + "@" + authed.Addr() + "/other", locks.ErrDenied, "permission denied", "grant-permission", false},
	}
}

// TestConnections checks all ways to connect.
func TestConnections(t *testing.T) {
	t.Parallel()
	ca := realserver.NewCA(t)
	cert, key := ca.Issue("server", realserver.Cert{Hosts: []string{"127.0.0.1", "etcd.example"}})
	named, namedKey := ca.Issue("named", realserver.Cert{Hosts: []string{"etcd.example"}})
	clientCert, clientKey := ca.Issue("client", realserver.Cert{})
	plain := etcdtest.Start(t, etcdtest.Options{})
	secure := etcdtest.Start(t, etcdtest.Options{TLS: &etcdtest.TLS{CertFile: cert, KeyFile: key}})
	mutual := etcdtest.Start(t, etcdtest.Options{TLS: &etcdtest.TLS{CertFile: named, KeyFile: namedKey, ClientCAFile: ca.CertFile}})
	authed := etcdtest.Start(t, etcdtest.Options{})
	authed.EnableAuth("root", etcdtest.User{Name: "user", Password: password, Prefix: "/mine/"})
	down := drive.Nobody(t)
	for name, u := range map[string]string{
		"plain":                   plain.Addr() + "/a",
		"user where none is used": "user:" + password + "@" + plain.Addr() + "/b",
		"one of two":              down + "," + plain.Addr() + "/c",
		"TLS":                     secure.Addr() + "/a?cacert=" + ca.CertFile,
		"TLS by name":             secure.Addr() + "/b?servername=etcd.example&cacert=" + ca.CertFile,
		"client certificate":      mutual.Addr() + "?servername=etcd.example&cacert=" + ca.CertFile + "&cert=" + clientCert + "&key=" + clientKey,
		"user":                    "user:" + password + "@" + authed.Addr() + "/mine",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, "etcd://"+u, options("a"))
			drive.Hold(t, l)
			ctx, cancel := context.WithCancel(drive.Context(t))
			waiter, done := campaign(ctx, t, "etcd://"+u, options("b"))
			if err := l.Renew(ctx); err != nil {
				t.Errorf("renew: %v", err)
			}
			drive.Release(t, l)
			if r := drive.Within(t, drive.Patience, done); r.Err != nil {
				t.Errorf("the waiter: %v", r.Err)
			}
			cancel()
			drive.Release(t, waiter)
		})
	}
}
