package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// A securedServer is a server with a holder. Both have certificates in files that tests
// replace.
type securedServer struct {
	*zktest.Server
	t      testing.TB
	dir    string
	holder locks.Lock
	spy    *spy // has the holder's entry
	log    drive.Log
}

func startSecured(t testing.TB, ca *realserver.CA) *securedServer {
	s := &securedServer{t: t, dir: t.TempDir()}
	s.installCA(ca, "ca.pem")
	s.installCA(ca, "client-ca.pem")
	s.install(ca, "server")
	s.install(ca, "client")
	s.Server = zktest.Start(t, zktest.Options{TLS: &zktest.TLS{
		CertFile: s.path("server.pem"), KeyFile: s.path("server.key"), ClientCAFile: s.path("client-ca.pem"),
	}})
	o := locks.Options{Name: "a", TTL: time.Minute, ConnectTimeout: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(&s.log, nil))}
	store, _ := openLock(t, s.URL()+"/p?cacert="+s.path("ca.pem")+"&cert="+s.path("client.pem")+"&key="+s.path("client.key"), o)
	s.spy = &spy{lock: store}
	s.holder = queue.New(s.spy, queue.Traits{}, o)
	t.Cleanup(func() { _ = s.holder.Close() })
	drive.Hold(t, s.holder)
	return s
}

// openLock returns a handle and its store.
func openLock(t testing.TB, rawURL string, o locks.Options) (*lock, *queue.Lock) {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLock(u, o)
	if err != nil {
		t.Fatal(err)
	}
	h := l.handle()
	t.Cleanup(func() { _ = h.Close() })
	return l, h
}

// A spy is a store that remembers the entry of its handle.
type spy struct {
	*lock
	entry *entry
}

func (s *spy) NewEntry(c *queue.Campaign) (queue.Entry, error) {
	p, err := s.lock.NewEntry(c)
	s.entry = p.(*entry)
	return p, err
}

func (s *securedServer) path(name string) string { return filepath.Join(s.dir, name) }

func (s *securedServer) copy(from, name string) {
	s.t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(s.path(name), b, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *securedServer) installCA(ca *realserver.CA, name string) {
	s.t.Helper()
	s.copy(ca.CertFile, name)
}

func (s *securedServer) install(ca *realserver.CA, name string) {
	s.t.Helper()
	cert, key := ca.Issue(name, realserver.Cert{})
	s.copy(cert, name+".pem")
	s.copy(key, name+".key")
}

// renewed renews, and reports whether the new connection resumed a TLS session.
func (s *securedServer) renewed() bool {
	s.t.Helper()
	drive.Renew(s.t, s.holder)
	connector := s.spy.entry.s.connector
	connector.mu.Lock()
	defer connector.mu.Unlock()
	return connector.conn != nil && connector.conn.Conn.(*tls.Conn).ConnectionState().DidResume
}

// TestRenewalsResumeTLS checks that a renewal resumes the TLS session, and so costs no
// signatures, unless our certificate has changed. A CA that is no longer trusted is refused
// nevertheless.
func TestRenewalsResumeTLS(t *testing.T) {
	t.Parallel()
	trial.Steady(t, func(t testing.TB, _ int) { renewalsResumeTLS(t) }) // a server must start while the lease lasts
}

func renewalsResumeTLS(t testing.TB) {
	ca := realserver.NewCA(t)
	s := startSecured(t, ca)
	for range 3 {
		if !s.renewed() {
			t.Error("a renewal resumed no TLS session")
		}
	}
	s.install(ca, "client")
	if s.renewed() {
		t.Error("a TLS session with our old certificate was resumed")
	}
	if !s.renewed() {
		t.Error("a renewal with a new certificate resumed no TLS session")
	}
	s.installCA(realserver.NewCA(t), "ca.pem")
	ctx, cancel := context.WithTimeout(drive.Context(t), 2*time.Second)
	defer cancel()
	err := s.holder.Renew(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "signed by unknown authority") {
		t.Errorf("with another CA: %v", err)
	}
	s.installCA(ca, "ca.pem")
	s.renewed()
	drive.Release(t, s.holder)
}

// TestTempSessionsExpire checks that temporary sessions that expire again and again are not
// reported as a loss of our lock, which would end a holder's job.
func TestTempSessionsExpire(t *testing.T) {
	t.Parallel()
	trial.Steady(t, func(t testing.TB, scale int) {
		s := zktest.Start(t, zktest.Options{})
		store, l := openLock(t, s.URL()+"/p", locks.Options{Name: "a", TTL: 10 * time.Second, ConnectTimeout: trial.Stretch(5 * time.Second)})
		drive.Hold(t, l)
		store.o.ConnectTimeout = time.Duration(scale) * time.Second // for the temporary sessions
		n := 0
		_, err := withTempSession(t.Context(), store, func(context.Context, *session) (int, error) { n++; return 0, errExpired })
		if errors.Is(err, locks.ErrLost) || err == nil || n < 2 {
			t.Errorf("after %d sessions: %v", n, err)
		}
		drive.Renew(t, l)
		drive.Release(t, l)
	})
}
