package zookeeper_test

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

func probe(t testing.TB, rawURL string, o locks.Options) locks.Servers {
	t.Helper()
	s, err := handle(t, rawURL, o).Probe(drive.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finds checks that there is one finding about check, its level, and a part of its text; or none,
// if level is "".
func finds(t testing.TB, s locks.Servers, check, level, text string) {
	t.Helper()
	n := 0
	for _, f := range s.Findings {
		if f.Check != check {
			continue
		}
		n++
		if f.Level != level || !strings.Contains(f.Text, text) || (f.Level != "ok") != (f.Fix != "") {
			t.Errorf("got %+v; want %s: %s", f, level, text)
		}
	}
	if (n != 1) != (level == "") {
		t.Errorf("there are %d findings about %s; want %q", n, check, level)
	}
}

// TestProbe probes one server, and checks that this changes nothing.
func TestProbe(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	op := operate(t, &root{Server: s})
	before := op.entries("/")
	got := probe(t, s.URL()+"/p", options("w"))
	if len(got.Servers) != 1 || got.Product != "ZooKeeper" || got.User != "" {
		t.Fatalf("got %+v", got)
	}
	one := got.Servers[0]
	if one.Address != s.Addr() || one.Error != "" || !strings.HasPrefix(one.Version, "3.8.") || strings.ContainsAny(one.Version, "-, ") || one.Role != "standalone" {
		t.Errorf("got %+v", one)
	}
	if one.RTT <= 0 || one.RTT > time.Second || one.TLS != "" || !one.Expires.IsZero() || !one.Time.IsZero() {
		t.Errorf("got %+v", one)
	}
	finds(t, got, "version", "", "")
	finds(t, got, "ttl", "", "")
	finds(t, got, "acl", "warning", "no user")
	if after := op.entries("/"); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("the nodes were %q, and are %q", before, after)
	}
	drive.Eventually(t, drive.Patience, "no session is left", func() bool { return sessions(s) == 1 }) // the operator's
}

// TestProbeEnsemble checks the roles of its members, the defect of their version, and the
// findings when the members are killed one after the other.
func TestProbeEnsemble(t *testing.T) {
	t.Parallel()
	trial.Steady(t, func(t testing.TB, _ int) {
		e := zktest.StartEnsemble(t, 3, zktest.Options{})
		e.Leader() // waits until there is one
		roles := map[string]int{}
		got := probe(t, e.URL()+"/p", options("w"))
		for i, s := range got.Servers {
			roles[s.Role]++
			if s.Address != e[i].Addr() {
				t.Errorf("server %d is %s", i, s.Address)
			}
		}
		if roles["leader"] != 1 || roles["follower"] != 2 {
			t.Errorf("the roles are %v", roles)
		}
		finds(t, got, "version", "warning", "ZOOKEEPER-4785") // Debian has 3.8.0
		e[0].Kill()
		drive.Eventually(t, drive.Patience, "two are left", func() bool {
			got = probe(t, e.URL()+"/p", options("w"))
			return got.Servers[0].Class == "unavailable" && got.Servers[1].Error == "" && got.Servers[2].Error == ""
		})
		if s := got.Servers[0]; s.Version != "" || s.Role != "" || s.RTT != 0 || !strings.Contains(s.Error, "refused") {
			t.Errorf("a dead server: %+v", s)
		}
		e[1].Kill()
		drive.Eventually(t, drive.Patience, "the last one does not serve", func() bool {
			got = probe(t, e.URL()+"/p", options("w"))
			return got.Servers[2].Class == "unavailable"
		})
	})
}

// TestProbeLimits checks the finding about servers that grant different sessions.
func TestProbeLimits(t *testing.T) {
	t.Parallel()
	trial.Steady(t, func(t testing.TB, _ int) {
		one, two := zktest.Start(t, zktest.Options{}), zktest.Start(t, zktest.Options{Largest: 20 * time.Second})
		finds(t, probe(t, one.URL()+","+two.Addr()+"/p", options("w")), "ttl", "warning", "different ttls")
	})
}

// TestProbeTLS checks the version of TLS, and the end of the certificate that expires first.
func TestProbeTLS(t *testing.T) {
	t.Parallel()
	trial.Steady(t, func(t testing.TB, _ int) {
		ca := realserver.NewCA(t)
		cert, key := ca.Issue("server", realserver.Cert{Lasts: 3 * time.Hour})
		mutual := zktest.Start(t, zktest.Options{TLS: &zktest.TLS{CertFile: cert, KeyFile: key, ClientCAFile: ca.CertFile}})
		o := options("w")
		o.ConnectTimeout = drive.Patience // a server's first handshake takes long
		for _, lasts := range []time.Duration{2 * time.Hour, 4 * time.Hour} {
			client, clientKey := ca.Issue("client", realserver.Cert{Lasts: lasts})
			got := probe(t, mutual.URL()+"/p?cacert="+ca.CertFile+"&cert="+client+"&key="+clientKey, o)
			want := ends(t, cert)
			if lasts < 3*time.Hour {
				want = ends(t, client)
			}
			if s := got.Servers[0]; s.TLS != "1.3" && s.TLS != "1.2" || !s.Expires.Equal(want) || s.Role != "standalone" {
				t.Errorf("got %+v; want the end %v", s, want)
			}
		}
		got := probe(t, mutual.URL()+"/p?cacert="+ca.CertFile, o)
		if s := got.Servers[0]; s.Class != "denied" || s.TLS != "" {
			t.Errorf("without a certificate: %+v", s)
		}
	})
}

func ends(t testing.TB, certFile string) time.Time {
	t.Helper()
	b, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(b)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c.NotAfter
}

// testProbeACL checks the findings about the owner of the chroot.
func testProbeACL(t *testing.T, s *root) {
	op := operate(t, s)
	userURL := func(path string) string { return "zk://me:secret@" + s.Addr() + s.path + path }
	op.put("/open", "")
	for path, acl := range map[string][]zk.ACL{"/closed": zk.DigestACL(zk.PermAll, "me", "secret"), "/other": zk.DigestACL(zk.PermAll, "other", "user")} {
		if err := op.Create(path, nil, 0, acl); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][2]string{
		"/open": {"warning", "can create and delete"}, "/closed": {"ok", "neither create nor delete"}, "/none": {"warning", "does not exist yet"},
	} {
		got := probe(t, userURL(path), options("w"))
		finds(t, got, "acl", want[0], want[1])
		if got.User != "me" {
			t.Errorf("the user is %q", got.User)
		}
	}
	finds(t, probe(t, userURL("/other"), options("w")), "acl", "error", "permission denied")
}

// testProbeUnreachable checks that servers that cannot be reached do not delay the others.
func testProbeUnreachable(t *testing.T, s *root) {
	hole := faultproxy.New(t, s.Addr())
	hole.CutAll()
	o := options("w")
	o.ConnectTimeout = time.Second
	start := time.Now()
	got := probe(t, "zk://"+drive.Nobody(t)+","+hole.Addr()+","+s.Addr()+",no-such-host.invalid:1"+strings.Repeat(","+hole.Addr(), 8), o)
	if took := time.Since(start); took > 8*time.Second { // all are asked at the same time
		t.Errorf("it took %v", took)
	}
	for i, want := range []string{"refused", "answer", "", "no such host"} {
		if one := got.Servers[i]; !strings.Contains(one.Error, want) || (one.Error == "") != (want == "") || (one.Error == "") != (one.Class == "") {
			t.Errorf("server %d: %+v; want the error %q", i, one, want)
		}
	}
}

// testProbeServerInfo checks the findings for different answers to "srvr".
func testProbeServerInfo(t *testing.T, s *root) {
	says := func(answer string) string { return answerSrvr(t, s.Addr(), answer) }
	const ensemble = "\nMode: follower\n"
	o := options("w")
	o.ConnectTimeout = drive.Patience
	for _, tt := range []struct{ answer, level, text string }{
		{"Zookeeper version: 3.4.14-x, built on a day" + ensemble, "error", "too old"},
		{"Zookeeper version: 3.5.9, built on a day" + ensemble, "warning", "ZOOKEEPER-3911"},
		{"Zookeeper version: 3.7.2" + ensemble, "warning", "ZOOKEEPER-4785"},
		{"Zookeeper version: 3.9.3" + ensemble, "warning", "ZOOKEEPER-4925"},
		{"Zookeeper version: 3.9.3\nMode: standalone", "", ""},
		{"Zookeeper version: 3.9.4" + ensemble, "", ""},
		{"srvr is not executed because it is not in the whitelist.\n", "warning", "do not report"},
		{"ClickHouse Keeper version: v26.9.1.195-testing" + ensemble, "error", "does not resume sessions"},
	} {
		finds(t, probe(t, "zk://"+says(tt.answer), o), "version", tt.level, tt.text)
	}
	for _, answer := range []string{"", "\x00\xff", "HTTP/1.1 400 Bad Request\r\n\r\n", strings.Repeat("Mode: "+strings.Repeat("x", 100)+"\n", 1000)} {
		got := probe(t, "zk://"+says(answer), o)
		if one := got.Servers[0]; one.Error != "" || one.Version != "" || len(one.Role) > 100 {
			t.Errorf("%.20q: %+v", answer, one)
		}
	}
}

// answerSrvr starts a proxy that itself answers "srvr".
func answerSrvr(t *testing.T, target, answer string) (addr string) {
	return drive.Listen(t, func(c net.Conn) {
		defer c.Close()
		head := make([]byte, 4)
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		if string(head) == "srvr" {
			_, _ = io.WriteString(c, answer)
			return
		}
		s, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		defer s.Close()
		_, _ = s.Write(head)
		go func() {
			_, _ = io.Copy(s, c)
			_ = s.Close()
		}()
		_, _ = io.Copy(c, s)
	})
}
