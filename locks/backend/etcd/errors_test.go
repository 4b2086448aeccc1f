package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

const (
	password      = "pa55-w0rd"
	wrongPassword = "wr0ng-w0rd"
)

// listen serves each connection with f, for the length of the test.
func listen(t testing.TB, f func(net.Conn)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f(c)
		}
	}()
	return l.Addr().String()
}

// A troubled is a row of the table of errors people meet.
type troubled struct {
	name  string
	url   string // without the scheme
	class error
	text  string // in the message
	hint  string // in the hint
	slow  bool   // known only when the connect timeout is over
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range troubles(t) {
		for _, try := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/try=%t", tt.name, try), func(t *testing.T) {
				t.Parallel()
				trial.Steady(t, func(tb testing.TB, scale int) { tt.check(tb, try, time.Duration(scale)) })
			})
		}
	}
}

func (tt troubled) check(t testing.TB, try bool, scale time.Duration) {
	o := options("a")
	o.ConnectTimeout = scale * time.Second
	var log drive.Log
	o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l := open(t, "etcd://"+tt.url, o)
	start := time.Now()
	_, err := l.Acquire(drive.Context(t), try)
	took := time.Since(start)
	if !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(locks.Hint(err), tt.hint) {
		t.Errorf("got %v\nhint %q\nwant %v, %q, hint %q", err, locks.Hint(err), tt.class, tt.text, tt.hint)
	}
	for _, class := range []error{locks.ErrDenied, locks.ErrUnavailable, locks.ErrHeld, locks.ErrLost, locks.ErrUsage} {
		if !errors.Is(tt.class, class) && errors.Is(err, class) {
			t.Errorf("%v is of the class %v, too", err, class)
		}
	}
	u, _ := url.Parse("etcd://" + tt.url)
	host, _, _ := strings.Cut(u.Host, ",")
	text := err.Error()
	if !strings.Contains(text, host) || strings.ContainsAny(text, "\n\r") || len(text) > 300 {
		t.Errorf("not one short line that names the endpoint: %q", text)
	}
	for _, noise := range []string{"rpc error", "desc =", "transport:", "balancer", "etcdserverpb", "EOF"} {
		if strings.Contains(text, noise) {
			t.Errorf("the message has %q: %s", noise, text)
		}
	}
	for _, secret := range []string{password, wrongPassword} {
		if all := fmt.Sprintf("%s %#v %+v %s", text, err, err, locks.Hint(err)) + log.String(); strings.Contains(all, secret) {
			t.Errorf("the password is shown: %s", all)
		}
	}
	limit := o.ConnectTimeout / 2
	if tt.slow {
		limit = o.ConnectTimeout + scale*1500*time.Millisecond
	}
	if took > limit {
		t.Errorf("the answer took %v, want at most %v", took, limit)
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
	silent := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	ssh := listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n") })
	hangup := listen(t, func(c net.Conn) { c.Close() })
	hole := faultproxy.New(t, plain.Addr())
	hole.CutAll()
	down := listenAndClose(t)

	return []troubled{
		{"server down", down, locks.ErrUnavailable, "connection refused", "check that etcd runs", false},
		{"all servers down", down + "," + listenAndClose(t), locks.ErrUnavailable, "connection refused", "check that etcd runs", false},
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

// listenAndClose returns an address where nobody listens.
func listenAndClose(t testing.TB) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Ways to connect that should work.
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
	down := listenAndClose(t)
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
