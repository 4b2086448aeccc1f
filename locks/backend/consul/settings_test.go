package consul

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

func (s *settings) String() string {
	token := s.token
	if file := s.tokenFile.Now(nil); file != "" {
		token = file
	}
	out := s.addr + s.base + " " + s.key("a/b")
	for name, value := range map[string]string{" token=": token, " auth=": s.auth.String(), " query=": s.query.Encode()} {
		if value != "" {
			out += name + value
		}
	}
	if s.socket {
		out += " socket"
	}
	if s.tls != nil {
		c := s.tls.Config()
		out += fmt.Sprintf(" tls(ca=%t cert=%t name=%q skip=%t)", c.RootCAs != nil, c.GetClientCertificate != nil, c.ServerName, c.InsecureSkipVerify)
	}
	return out
}

func TestParse(t *testing.T) {
	t.Parallel()
	ca := realserver.NewCA(t)
	cert, key := ca.Issue("client", realserver.Cert{})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const local = "127.0.0.1:8500 leaderrun/a=2Fb"
	for _, tt := range []struct {
		url  string
		env  []string
		want string
	}{
		{"consul:", nil, local},
		{"consul://", nil, local},
		{"consul:///x/y/", nil, "127.0.0.1:8500 x/y/a=2Fb"},
		{"consul://h", nil, "h:8500 leaderrun/a=2Fb"},
		{"consul://h:1/x%20y", nil, "h:1 x y/a=2Fb"},
		{"consul://[::1]", nil, "[::1]:8500 leaderrun/a=2Fb"},
		{"consul://h?compat=consul-lock", nil, "h:8500 a/b/.lock"},
		{"consul://h/x?compat=consul-lock", nil, "h:8500 x/a/b/.lock"},
		{"consul:", []string{"CONSUL_HTTP_ADDR=h:1"}, "h:1 leaderrun/a=2Fb"},
		{"consul://i", []string{"CONSUL_HTTP_ADDR=h:1"}, "i:8500 leaderrun/a=2Fb"},
		{"consul:", []string{"CONSUL_HTTP_ADDR=http://h/base/"}, "h:80/base leaderrun/a=2Fb"},
		{"consul:", []string{"CONSUL_HTTP_ADDR=h"}, "h:80 leaderrun/a=2Fb"},
		{"consul:", []string{"CONSUL_HTTP_ADDR=h", "CONSUL_HTTP_SSL=true"}, `h:443 leaderrun/a=2Fb tls(ca=false cert=false name="" skip=false)`},
		{"consul:", []string{"CONSUL_HTTP_ADDR=https://h:8501"}, `h:8501 leaderrun/a=2Fb tls(ca=false cert=false name="" skip=false)`},
		{"consul:", []string{"CONSUL_HTTP_ADDR=https://h"}, `h:443 leaderrun/a=2Fb tls(ca=false cert=false name="" skip=false)`},
		{"consul:", []string{"CONSUL_HTTP_ADDR=unix:///run/consul.sock"}, "/run/consul.sock leaderrun/a=2Fb socket"},
		{"consul:", []string{"CONSUL_HTTP_TOKEN=t"}, local + " token=t"},
		{"consul:", []string{"CONSUL_HTTP_TOKEN=t", "CONSUL_HTTP_TOKEN_FILE=" + file}, local + " token=from-file"},
		{"consul://h?token-file=" + file, nil, "h:8500 leaderrun/a=2Fb token=from-file"},
		{"consul:", []string{"CONSUL_HTTP_AUTH=u:p"}, local + " auth=u:p"},
		{"consul://h?dc=d", nil, "h:8500 leaderrun/a=2Fb query=dc=d"},
		{"consul://h?namespace=n&partition=p", []string{"CONSUL_NAMESPACE=o"}, "h:8500 leaderrun/a=2Fb query=ns=n&partition=p"},
		{"consul://h", []string{"CONSUL_NAMESPACE=o", "CONSUL_PARTITION=q"}, "h:8500 leaderrun/a=2Fb query=ns=o&partition=q"},
		{"consul://h", []string{"CONSUL_HTTP_SSL=true", "CONSUL_HTTP_SSL_VERIFY=false", "CONSUL_TLS_SERVER_NAME=x"}, `h:8500 leaderrun/a=2Fb tls(ca=false cert=false name="x" skip=true)`},
		{"consul://h", []string{"CONSUL_CACERT=" + ca.CertFile}, "h:8500 leaderrun/a=2Fb"},
		{"consul://h?tls=true", []string{"CONSUL_CACERT=" + ca.CertFile, "CONSUL_CLIENT_CERT=" + cert, "CONSUL_CLIENT_KEY=" + key}, `h:8500 leaderrun/a=2Fb tls(ca=true cert=true name="" skip=false)`},
		{"consul://h?cacert=" + ca.CertFile, nil, `h:8500 leaderrun/a=2Fb tls(ca=true cert=false name="" skip=false)`},
		{"consul://h?tls=false", []string{"CONSUL_HTTP_SSL=true"}, "h:8500 leaderrun/a=2Fb"},
	} {
		backendtest.Parses(t, parse, tt.url, tt.env, tt.want)
	}
	for _, bad := range []string{
		"consul://token@h", "consul://h,i", "consul://h:0", "consul://h/a//b", "consul://h/a/../b", "consul://h/%1b", "consul://h/%ff",
		"consul://h?compat=other", "consul://h?tls=x", "consul://h?cert=" + cert, "consul://h?cacert=/no/such/file", "consul://h?token-file=/no/such/file", "consul://h?x=y", "consul://h#x",
	} {
		backendtest.Refuses(t, parse, bad, nil, "")
	}
	for _, bad := range []string{"CONSUL_HTTP_ADDR=ftp://h", "CONSUL_HTTP_ADDR=h,i", "CONSUL_HTTP_SSL=x", "CONSUL_HTTP_SSL_VERIFY=x", "CONSUL_CAPATH=/etc/ssl", "CONSUL_HTTP_TOKEN_FILE=/no/such/file"} {
		backendtest.Refuses(t, parse, "consul:", []string{bad}, "")
	}
}

// TestKeys checks that Consul 1.21.5 takes all keys, with the check that it was published with,
// that later versions see no path traversal in them, that no two are the same, and that a key
// says its name.
func TestKeys(t *testing.T) {
	t.Parallel()
	published := regexp.MustCompile(`^[a-zA-Z0-9,_./\-?&=]+$`)
	names := []string{
		"a", "A", "a.b_c-d", "db/backup", "db=2Fbackup", "a:b", "me@host", "x../y", "x/..y", "a..b", "a...b", "a.=2Eb", "...", "a/b:c@d..e", "a#b",
		"record", "ask", "a.lock", ".lock", "a/.lock", "a/.lock/b", strings.Repeat("/a@:", 50)[1:],
	}
	for _, name := range slices.Clone(names) {
		for slot := range 3 {
			names = append(names, locks.SlotName(name, slot))
		}
	}
	for _, compat := range []bool{false, true} {
		s := &settings{prefix: "leaderrun", compat: compat}
		seen := map[string]string{}
		for _, name := range names {
			if _, slot := locks.CutSlot(name); locks.CheckSlotName(name) != nil || compat && slot >= 0 {
				continue
			}
			for _, key := range []string{s.key(name), s.under(name) + recordSuffix, s.under(name) + askSuffix} {
				if other, ok := seen[key]; ok {
					t.Errorf("%q and %q have the same key %s", name, other, key)
				}
				seen[key] = name
				if !compat && (!published.MatchString(key) || strings.Contains(key, "..")) {
					t.Errorf("%q: Consul 1.21.5 refuses the key %s", name, key)
				}
				want := name
				if strings.HasSuffix(key, askSuffix) {
					want = "" // in no list
				}
				if got := s.name(key); got != want {
					t.Errorf("the key %s is of %q; want %q", key, got, want)
				}
			}
		}
	}
}

// TestIndexBeginsAnew checks that after an index that is less than the one before, the next
// query does not wait for a greater one, and that an answer without an index is an error.
func TestIndexBeginsAnew(t *testing.T) {
	t.Parallel()
	index := "7"
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Consul-Index", index)
		fmt.Fprint(w, `[]`)
	}))
	t.Cleanup(h.Close)
	c := newClient(&settings{addr: h.Listener.Addr().String()}, time.Minute, nil)
	for _, tt := range []struct {
		since, want uint64
	}{{0, 7}, {6, 7}, {7, 7}, {8, 0}} {
		if _, got, err := c.block(context.Background(), "x", tt.since, time.Second); err != nil || got != tt.want {
			t.Errorf("since %d: got %d, %v; want %d", tt.since, got, err, tt.want)
		}
	}
	for _, index = range []string{"", "0", "x"} {
		if _, got, err := c.block(context.Background(), "x", 0, 0); !errors.Is(err, errForeign) {
			t.Errorf("index %q: got %d, %v", index, got, err)
		}
	}
}
