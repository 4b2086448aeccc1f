package etcd_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// authed starts a server that wants a login, whose tokens live for a second,
// and returns a user's address of it.
func authed(t *testing.T) (*etcdtest.Server, string) {
	s := etcdtest.Start(t, etcdtest.Options{Args: []string{"--auth-token-ttl", "1"}})
	s.EnableAuth("root", etcdtest.User{Name: "user", Password: password, Prefix: "/mine/"})
	return s, "etcd://user:" + password + "@" + s.Addr() + "/mine"
}

// tokenLife is longer than tokens live there.
const tokenLife = 2500 * time.Millisecond

// TestLoginExpires: tokens end with a restart of the server (simple tokens are
// kept in its memory) and by themselves, and are had anew where needed.
func TestLoginExpires(t *testing.T) {
	t.Parallel()
	s, u := authed(t)
	a := open(t, u, options("a"))
	drive.Hold(t, a)
	b, done := campaign(drive.Context(t), t, u, options("b"))
	s.Kill()
	s.Start()
	for range 2 {
		for _, l := range []locks.Lock{a, b} {
			if err := l.Renew(drive.Context(t)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(tokenLife)
	}
	drive.Release(t, a)
	if r := drive.Within(t, drive.Patience, done); r.Err != nil {
		t.Fatal(r.Err)
	}
	drive.Release(t, b)
}

// TestWatchAfterLoginExpired: a waiter that has to watch somebody else than at
// first does so with a login that is valid now, and not with that of its other
// watch.
func TestWatchAfterLoginExpired(t *testing.T) {
	t.Parallel()
	_, u := authed(t)
	a := open(t, u, options("a"))
	drive.Hold(t, a)
	b, bDone := campaign(drive.Context(t), t, u, options("b"))
	o := options("c")
	var log drive.Log
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	c, cDone := campaign(drive.Context(t), t, u, o)
	time.Sleep(tokenLife)
	drive.Release(t, b)
	drive.Within(t, drive.Patience, bDone)
	time.Sleep(tokenLife / 2) // whoever polls now for want of a watch says so
	start := time.Now()
	drive.Release(t, a)
	if r := drive.Within(t, drive.Patience, cDone); r.Err != nil {
		t.Error(r.Err)
	} else if took := r.At.Sub(start); took > promptly/4 {
		t.Errorf("handed over after %v", took)
	}
	if n := strings.Count(log.String(), "disturbed"); n > 1 {
		t.Errorf("the wait was disturbed %d times:\n%s", n, log.String())
	}
	drive.Release(t, c)
}

// TestClientCertificateRotates: the files of our certificate are replaced while
// we hold the lock, and the new one counts from the next connection on.
func TestClientCertificateRotates(t *testing.T) {
	t.Parallel()
	ca, next := realserver.NewCA(t), realserver.NewCA(t)
	serverCert, serverKey := ca.Issue("server", realserver.Cert{})
	cert, key := ca.Issue("client", realserver.Cert{})
	newCert, newKey := next.Issue("client", realserver.Cert{})
	clientCA := filepath.Join(t.TempDir(), "client-ca.pem")
	replace := func(files ...string) {
		for i := 0; i < len(files); i += 2 {
			b, err := os.ReadFile(files[i])
			if err == nil {
				err = os.WriteFile(files[i+1], b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	replace(ca.CertFile, clientCA)
	s := etcdtest.Start(t, etcdtest.Options{TLS: &etcdtest.TLS{CertFile: serverCert, KeyFile: serverKey, ClientCAFile: clientCA}})
	o := options("a")
	o.TTL = time.Minute
	l := open(t, s.URL()+"?cacert="+ca.CertFile+"&cert="+cert+"&key="+key, o)
	drive.Hold(t, l)
	s.Kill()
	replace(next.CertFile, clientCA, newCert, cert, newKey, key)
	s.Start()
	if err := l.Renew(drive.Context(t)); err != nil {
		t.Error(err)
	}
	drive.Release(t, l)
}
