package etcd

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

func (s *settings) String() string {
	out := strings.Join(s.endpoints, ",") + " " + s.prefix
	if s.user != "" {
		word, _ := s.password.next()
		out += " " + s.user + ":" + word
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
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("f:g \r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const local = "http://127.0.0.1:2379"
	tests := []struct {
		url  string
		env  []string
		want string
	}{
		{"etcd:", nil, local + " /leaderrun"},
		{"etcd://", nil, local + " /leaderrun"},
		{"etcd:///jobs", nil, local + " /jobs"},
		{"etcd://h", nil, "http://h:2379 /leaderrun"},
		{"etcd://h/", nil, "http://h:2379 /leaderrun"},
		{"etcd://h:1,i:2/a/b/", nil, "http://h:1,http://i:2 /a/b"},
		{"etcd://h,i/a%20b", nil, "http://h:2379,http://i:2379 /a b"},
		{"etcd://u:p%40%2F@h", nil, "http://h:2379 /leaderrun u:p@/"},
		{"etcd://u@h", []string{"ETCDCTL_PASSWORD=p"}, "http://h:2379 /leaderrun u:p"},
		{"etcd://h", []string{"ETCDCTL_USER=u", "ETCDCTL_PASSWORD=p:q"}, "http://h:2379 /leaderrun u:p:q"},
		{"etcd://h", []string{"ETCDCTL_USER=u:p:q"}, "http://h:2379 /leaderrun u:p:q"},
		{"etcd://u@h", []string{"ETCDCTL_USER=u:p"}, "http://h:2379 /leaderrun u:p"},
		{"etcd://v@h", []string{"ETCDCTL_USER=u:p", "ETCDCTL_PASSWORD=q"}, "http://h:2379 /leaderrun v:q"},
		{"etcd://h", []string{"ETCDCTL_PASSWORD=p"}, "http://h:2379 /leaderrun"},
		{"etcd://u@h?password-file=" + file, nil, "http://h:2379 /leaderrun u:f:g "},
		{"etcd://h?password-file=" + file, []string{"ETCDCTL_USER=u", "ETCDCTL_PASSWORD=q"}, "http://h:2379 /leaderrun u:f:g "},
		{"etcd://u@h", []string{"LEADERRUN_ETCD_PASSWORD_FILE=" + file}, "http://h:2379 /leaderrun u:f:g "},
		{"etcd://u:p@h", []string{"LEADERRUN_ETCD_PASSWORD_FILE=/no/such"}, "http://h:2379 /leaderrun u:p"},
		{"etcd://h", []string{"LEADERRUN_ETCD_PASSWORD_FILE=/no/such"}, "http://h:2379 /leaderrun"},
		{"etcd:", []string{"ETCDCTL_ENDPOINTS=h:1, i:2"}, "http://h:1,http://i:2 /leaderrun"},
		{"etcd:", []string{"ETCDCTL_ENDPOINTS=http://h:1/,http://[::1]:2"}, "http://h:1,http://[::1]:2 /leaderrun"},
		{"etcd:", []string{"ETCDCTL_ENDPOINTS=https://h"}, `https://h:2379 /leaderrun tls(ca=false cert=false name="" skip=false)`},
		{"etcd:", []string{"ETCDCTL_ENDPOINTS=[fe80::1%eth0]:1"}, "http://[fe80::1%25eth0]:1 /leaderrun"},
		{"etcd:", []string{"LEADERRUN_ETCD_PREFIX=x/y/"}, local + " /x/y"},
		{"etcd:///z", []string{"LEADERRUN_ETCD_PREFIX=x", "ETCDCTL_ENDPOINTS=h:1"}, "http://h:1 /z"},
		{"etcd://i:2/z", []string{"LEADERRUN_ETCD_PREFIX=x", "ETCDCTL_ENDPOINTS=h:1"}, "http://i:2 /z"},
		{"etcd://h", []string{"ETCDCTL_DISCOVERY_SRV=example.com", "ETCDCTL_API=2"}, "http://h:2379 /leaderrun"},
		{"etcd://h?tls=true", nil, `https://h:2379 /leaderrun tls(ca=false cert=false name="" skip=false)`},
		{"etcd://h?cert=" + cert + "&key=" + key, nil, `https://h:2379 /leaderrun tls(ca=false cert=true name="" skip=false)`},
		{"etcd://h", []string{"ETCDCTL_CACERT=" + ca.CertFile, "ETCDCTL_CERT=" + cert, "ETCDCTL_KEY=" + key}, `https://h:2379 /leaderrun tls(ca=true cert=true name="" skip=false)`},
		{"etcd://h?tls=false", []string{"ETCDCTL_CACERT=" + ca.CertFile}, "http://h:2379 /leaderrun"},
		{"etcd:", []string{"ETCDCTL_ENDPOINTS=http://h", "ETCDCTL_CACERT=" + ca.CertFile}, "http://h:2379 /leaderrun"},
		{"etcd:", []string{"ETCDCTL_INSECURE_TRANSPORT=false"}, `https://127.0.0.1:2379 /leaderrun tls(ca=false cert=false name="" skip=false)`},
		{"etcd:", []string{"ETCDCTL_INSECURE_TRANSPORT=true"}, local + " /leaderrun"},
		{"etcd:", []string{"ETCDCTL_INSECURE_SKIP_TLS_VERIFY=1"}, `https://127.0.0.1:2379 /leaderrun tls(ca=false cert=false name="" skip=true)`},
	}
	for _, tt := range tests {
		backendtest.Parses(t, parse, tt.url, tt.env, tt.want)
	}
}

func TestParseUsage(t *testing.T) {
	t.Parallel()
	ca := realserver.NewCA(t)
	_, key := ca.Issue("client", realserver.Cert{})
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "opensesame"
	tests := []struct {
		url  string
		env  []string
		want string // in the message
	}{
		{"etcd://h#x", nil, "after #"},
		{"etcd://h?cacrt=x", nil, `did you mean "cacert"?`},
		{"etcd://h?cacert=a&cacert=b", nil, "twice"},
		{"etcd://h?tls=maybe", nil, "neither true nor false"},
		{"etcd://u@h", nil, "ETCDCTL_PASSWORD"},
		{"etcd://:" + secret + "@h", nil, "but no user"},
		{"etcd://v@h", []string{"ETCDCTL_USER=u:" + secret}, `"v" has no password`},
		{"etcd://u:" + secret + "@h?password-file=" + key, nil, "both a password and password-file"},
		{"etcd://h?password-file=" + key, nil, "needs a user"},
		{"etcd://u@h?password-file=/no/such", nil, "password-file: open /no/such"},
		{"etcd://u@h?password-file=" + empty, nil, "password-file: no password in"},
		{"etcd://u@h", []string{"LEADERRUN_ETCD_PASSWORD_FILE=/no/such"}, "LEADERRUN_ETCD_PASSWORD_FILE: open /no/such"},
		{"etcd://u@h", []string{"LEADERRUN_ETCD_PASSWORD_FILE=" + key, "ETCDCTL_PASSWORD=" + secret}, "unset one"},
		{"etcd://h", []string{"LEADERRUN_ETCD_PASSWORD_FILE=" + key, "ETCDCTL_USER=u:" + secret}, "unset one"},
		{"etcd://h/a%00b", nil, "cannot be printed"},
		{"etcd://h?key=" + key, nil, "both cert and key"},
		{"etcd://h", []string{"ETCDCTL_CACERT=" + empty}, "ETCDCTL_CACERT: no certificate in"},
		{"etcd:", []string{"ETCDCTL_ENDPOINTS=http://h,https://i"}, "cannot mix"},
		{"etcd:", []string{"ETCDCTL_ENDPOINTS=ftp://h"}, "want host:port"},
		{"etcd:", []string{"ETCDCTL_ENDPOINTS=http://u:" + secret + "@h"}, "no port between"},
		{"etcd:", []string{"ETCDCTL_DISCOVERY_SRV=example.com", "ETCDCTL_ENDPOINTS=h"}, "ETCDCTL_DISCOVERY_SRV is set"},
		{"etcd:", []string{"ETCDCTL_INSECURE_TRANSPORT=perhaps"}, "ETCDCTL_INSECURE_TRANSPORT"},
	}
	for _, tt := range tests {
		backendtest.Refuses(t, parse, tt.url, tt.env, tt.want)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"etcd://u:p@h1:2379,h2:2379/prefix?tls=true", "etcd:", "etcd://[::1]:1,h/%2F", "etcd://h?servername=x"} {
		f.Add(s, "http://h:1,[::1]:2", "u:p")
	}
	f.Fuzz(func(t *testing.T, raw, endpoints, user string) {
		u, err := url.Parse(raw)
		if err != nil {
			return
		}
		s, err := parse(u, tester.Environment("ETCDCTL_ENDPOINTS="+endpoints, "ETCDCTL_USER="+user))
		if err != nil {
			if !errors.Is(err, locks.ErrUsage) {
				t.Errorf("not a usage error: %v", err)
			}
			return
		}
		if !strings.HasPrefix(s.prefix, "/") || strings.HasSuffix(s.prefix, "/") || len(s.endpoints) == 0 {
			t.Errorf("got %v", s)
		}
		for _, e := range s.endpoints {
			if v, err := url.Parse(e); err != nil || v.Host == "" || v.Path != "" || v.User != nil || v.RawQuery != "" {
				t.Errorf("endpoint %q: %v", e, err)
			}
		}
		if (s.tls == nil) == strings.HasPrefix(s.endpoints[0], "https:") {
			t.Errorf("TLS and endpoints disagree: %v", s)
		}
	})
}

func TestEveryCauseHasAHint(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(allCauses(true), allCauses(false)) {
		if c.Hint == "" || strings.HasSuffix(c.Hint, ".") {
			t.Errorf("%q: hint %q", c.Pattern, c.Hint)
		}
	}
}
