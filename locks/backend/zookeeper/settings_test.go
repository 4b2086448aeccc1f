package zookeeper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

func (s *settings) String() string {
	out := strings.Join(s.servers, ",") + " " + s.chroot
	if s.unfair {
		out += " unfair"
	}
	if all := s.users.now(); all != nil {
		out += " " + strings.Join(all, " and ")
	}
	if s.tls != nil {
		c := s.tls.Config()
		out += fmt.Sprintf(" tls(ca=%t cert=%t name=%q)", c.RootCAs != nil, c.GetClientCertificate != nil, c.ServerName)
	}
	return out
}

func TestParse(t *testing.T) {
	t.Parallel()
	ca := realserver.NewCA(t)
	cert, key := ca.Issue("client", realserver.Cert{})
	file := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(file, []byte("me:it's a:secret\r\n\nalso:me"), 0o600); err != nil {
		t.Fatal(err)
	}
	const local = "127.0.0.1:2181"
	for _, tt := range []struct {
		url  string
		env  []string
		want string
	}{
		{"zk:", nil, local + " /leaderrun"},
		{"zk:///jobs", nil, local + " /jobs"},
		{"zk://h/", nil, "h:2181 /leaderrun"},
		{"zk://h:1,i:2/a/b/", nil, "h:1,i:2 /a/b"},
		{"zk://h,i/a%20b", nil, "h:2181,i:2181 /a b"},
		{"zk://h?mode=fair", nil, "h:2181 /leaderrun"},
		{"zk://h?mode=unfair", nil, "h:2181 /leaderrun unfair"},
		{"zk:", []string{"ZK_HOSTS=h:1, i/c"}, "h:1,i:2181 /c"},
		{"zk:///d", []string{"ZK_HOSTS=h/c"}, "h:2181 /d"},
		{"zk://i", []string{"ZK_HOSTS=h/c", "LEADERRUN_ZK_CHROOT=x/y"}, "i:2181 /x/y"},
		{"zk://h?tls=false", []string{"ZK_AUTH=u:p", "CLIENT_JVMFLAGS=-Dzookeeper.client.secure=true -Djava.security.auth.login.config=/x"}, "h:2181 /leaderrun u:p"},
		{"zk://h", []string{"ZK_AUTH=u:p:q"}, "h:2181 /leaderrun u:p:q"},
		{"zk://u:p%2F@h", []string{"ZK_AUTH=v:q"}, "h:2181 /leaderrun u:p/"},
		{"zk://h?auth-file=" + file, []string{"ZK_AUTH=v:q"}, "h:2181 /leaderrun me:it's a:secret and also:me"},
		{"zk://h?servername=n&cacert=" + ca.CertFile, nil, `h:2181 /leaderrun tls(ca=true cert=false name="n")`},
		{"zk://h", []string{"LEADERRUN_ZK_CACERT=" + ca.CertFile, "LEADERRUN_ZK_CERT=" + cert, "LEADERRUN_ZK_KEY=" + key}, `h:2181 /leaderrun tls(ca=true cert=true name="")`},
	} {
		backendtest.Parses(t, parse, tt.url, tt.env, tt.want)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	ca := realserver.NewCA(t)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		url  string
		env  []string
		want string
	}{
		{"zk:h:2181", nil, "two slashes"},
		{"zk:/h:2181", nil, "two slashes"},
		{"zk://h?moed=fair", nil, `did you mean "mode"?`},
		{"zk://h?mode=first", nil, "want fair or unfair"},
		{"zk://h:0", nil, "no port between"},
		{"zk://h/zookeeper", nil, "belongs to ZooKeeper"},
		{"zk://h/zookeeper/config", nil, "belongs to ZooKeeper"},
		{"zk://h/a/../b", nil, `has ".." between`},
		{"zk://h/a//b", nil, `has "" between`},
		{"zk://h/a%00b", nil, "cannot be printed"},
		{"zk://u@h", nil, "no user:password"},
		{"zk://:p@h", nil, "no user:password"},
		{"zk://h", []string{"ZK_AUTH=opensesame"}, "ZK_AUTH has no user:password"},
		{"zk://u:p@h?auth-file=" + empty, nil, "both a user and auth-file"},
		{"zk://h?auth-file=" + empty, nil, "no user:password"},
		{"zk://h?auth-file=" + ca.CertFile, nil, "no user:password"},
		{"zk://h?auth-file=/nowhere/at-all", nil, "no such file"},
		{"zk://h?cert=" + ca.CertFile, nil, "both cert and key"},
		{"zk://h", []string{"CLIENT_JVMFLAGS=-Xmx1g -Dzookeeper.client.secure=true"}, "says to speak TLS"},
		{"zk://h", []string{"JVMFLAGS=-Djava.security.auth.login.config=/x"}, "SASL"},
		{"zk:", []string{"ZK_HOSTS=user:opensesame@h"}, "user:xxxxx@h"},
	} {
		backendtest.Refuses(t, parse, tt.url, tt.env, tt.want)
	}
}
