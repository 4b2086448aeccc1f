package etcd_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// authed starts a server that requires a login, with tokens that expire after a second,
// and returns it with its address for a user.
func authed(t *testing.T) (*etcdtest.Server, string) {
	s := etcdtest.Start(t, etcdtest.Options{Args: []string{"--auth-token-ttl", "1"}})
	s.EnableAuth("root", etcdtest.User{Name: "user", Password: password, Prefix: "/mine/"})
	return s, "etcd://user:" + password + "@" + s.Addr() + "/mine"
}

// tokenLife is a time after which a token has certainly expired.
const tokenLife = 2500 * time.Millisecond

// TestLoginExpires checks that a new token is requested when the old one was lost in a
// restart of the server, which keeps simple tokens in memory, or has expired.
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

// TestWatchAfterLoginExpired checks that a waiter that has to watch another entry than at
// first does so with a valid login, and not with that of its other watch.
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
	time.Sleep(tokenLife / 2) // a waiter without a watch logs that now
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

// TestPasswordChanges checks that the file with the password is read for each login.
// Holders and waiters continue, whether the file or the server has the new password first.
func TestPasswordChanges(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.7", "3.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := etcdtest.Start(t, etcdtest.Options{Version: version, Args: []string{"--auth-token-ttl", "1"}})
			s.EnableAuth("root", etcdtest.User{Name: "user", Password: "one", Prefix: "/mine/"})
			change := func(word string) {
				t.Helper()
				root := s.ClientAs("root", "root")
				defer root.Close()
				if _, err := root.UserChangePassword(drive.Context(t), "user", word); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(t.TempDir(), "password")
			write := func(word string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(word+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("one")
			o := options("a")
			o.TTL = time.Minute
			var log drive.Log
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			u := "etcd://user@" + s.Addr() + "/mine?password-file=" + file
			a := open(t, u, o)
			drive.Hold(t, a)
			b, done := campaign(drive.Context(t), t, u, o)
			both := []locks.Lock{a, b}
			fail := func() {
				t.Helper()
				for _, l := range both {
					drive.Eventually(t, drive.Patience, "another password is refused", func() bool {
						ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // to log in takes a while
						defer cancel()
						err := l.Renew(ctx)
						if err == nil { // which has extended the token's life
							time.Sleep(tokenLife)
						}
						return errors.Is(err, locks.ErrDenied)
					})
				}
			}
			renew := func() {
				t.Helper()
				for _, l := range both {
					drive.Renew(t, l)
				}
			}

			change("two") // ends all logins
			fail()
			write("two")
			renew()

			write("three")
			time.Sleep(tokenLife)
			fail()
			change("three")
			renew()

			write("")
			time.Sleep(tokenLife)
			renew()
			if !strings.Contains(log.String(), "cannot read a file again") || strings.Contains(log.String(), "three") {
				t.Errorf("the log is:\n%s", log.String())
			}
			drive.Release(t, a)
			if r := drive.Within(t, drive.Patience, done); r.Err != nil {
				t.Fatal(r.Err)
			}
			drive.Release(t, b)
		})
	}
}

// TestCertificatesRotate replaces the CA and the files of our certificate while we hold
// the lock. The next connection uses the new ones. If a file is unusable, its last contents
// are used, and the log says so.
func TestCertificatesRotate(t *testing.T) {
	t.Parallel()
	ca, next := realserver.NewCA(t), realserver.NewCA(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	install := func(ca *realserver.CA, names ...string) {
		t.Helper()
		for _, name := range names {
			from := ca.CertFile
			if of, _, _ := strings.Cut(name, "."); of != "ca" && of != "client-ca" {
				cert, key := ca.Issue(of, realserver.Cert{})
				copyFile(t, key, path(of+".key"))
				from = cert
			}
			copyFile(t, from, path(name))
		}
	}
	install(ca, "ca.pem", "client-ca.pem", "server.pem", "client.pem")
	s := etcdtest.Start(t, etcdtest.Options{TLS: &etcdtest.TLS{CertFile: path("server.pem"), KeyFile: path("server.key"), ClientCAFile: path("client-ca.pem")}})
	o := options("a")
	o.TTL = time.Minute
	var log drive.Log
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	l := open(t, s.URL()+"?cacert="+path("ca.pem")+"&cert="+path("client.pem")+"&key="+path("client.key"), o)
	drive.Hold(t, l)
	for _, step := range []struct {
		name  string
		files []string
	}{
		{"ours", []string{"client-ca.pem", "client.pem"}},
		{"the CA", []string{"ca.pem", "server.pem"}},
	} {
		s.Kill()
		install(next, step.files...)
		s.Start()
		if err := l.Renew(drive.Context(t)); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	if strings.Contains(log.String(), "cannot read") {
		t.Errorf("the log is:\n%s", log.String())
	}
	s.Kill()
	if err := os.WriteFile(path("ca.pem"), []byte("-----BEGIN CERT"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Start()
	if err := l.Renew(drive.Context(t)); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), path("ca.pem")); n != 1 {
		t.Errorf("a half-written file was logged %d times; want 1:\n%s", n, log.String())
	}
	drive.Release(t, l)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnknownCA checks that a renewal that fails because of the CA says so, even if its
// context ends.
func TestUnknownCA(t *testing.T) {
	t.Parallel()
	ca, next := realserver.NewCA(t), realserver.NewCA(t)
	cert, key := ca.Issue("server", realserver.Cert{})
	s := etcdtest.Start(t, etcdtest.Options{TLS: &etcdtest.TLS{CertFile: cert, KeyFile: key}})
	o := options("a")
	o.TTL = time.Minute
	l := open(t, s.URL()+"?cacert="+ca.CertFile, o)
	drive.Hold(t, l)
	s.Kill()
	other, otherKey := next.Issue("server", realserver.Cert{})
	copyFile(t, other, cert)
	copyFile(t, otherKey, key)
	s.Start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := l.Renew(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "signed by unknown authority") || !strings.Contains(locks.Hint(err), "cacert") {
		t.Errorf("got %v (%s)", err, locks.Hint(err))
	}
}
