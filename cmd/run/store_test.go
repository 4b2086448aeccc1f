package run

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// TestStore: two descriptions may be of one store, but one description may not be of two.
func TestStore(t *testing.T) {
	t.Parallel()
	spell := func(address string, env ...string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return store(u, env)
	}
	for _, test := range []struct{ one, other string }{
		{spell("file:", "HOME=/a"), spell("file:", "HOME=/b")},
		{spell("file:", "USERPROFILE=/a"), spell("file:", "USERPROFILE=/b")},
		{spell("file:", "LEADERRUN_FILE_DIR=/a"), spell("file:", "LEADERRUN_FILE_DIR=/b")},
		{spell("file:///a"), spell("file:///b")},
		{spell("etcd:", "ETCDCTL_ENDPOINTS=a"), spell("etcd:", "ETCDCTL_ENDPOINTS=b")},
		{spell("etcd:///p", "ETCDCTL_ENDPOINTS=a"), spell("etcd:///p", "ETCDCTL_ENDPOINTS=b")},
		{spell("zk:", "ZK_HOSTS=a"), spell("zk:", "ZK_HOSTS=b")},
		{spell("zk://h?mode=fair"), spell("zk://h?mode=unfair")},
		{spell("gcs:", "LEADERRUN_GCS_BUCKET=a"), spell("gcs:", "LEADERRUN_GCS_BUCKET=b")},
		{spell("gcs://b", "STORAGE_EMULATOR_HOST=a"), spell("gcs://b", "STORAGE_EMULATOR_HOST=b")},
		{spell("postgres:", "PGHOST=a"), spell("postgres:", "PGHOST=b")},
		{spell("postgres://h", "PGUSER=a"), spell("postgres://h", "PGUSER=b")}, // it is also the name of the database
		{spell("postgres://?service=x", "HOME=/a"), spell("postgres://?service=x", "HOME=/b")},
		{spell("mysql:", "MYSQL_HOST=a"), spell("mysql:", "MYSQL_HOST=b")},
		{spell("mysql:", "LEADERRUN_MYSQL_DATABASE=a"), spell("mysql:", "LEADERRUN_MYSQL_DATABASE=b")},
		{spell("azblob:", "AZURE_STORAGE_ACCOUNT=aaa"), spell("azblob:", "AZURE_STORAGE_ACCOUNT=bbb")},
		{spell("azblob://acc/con"), spell("azblob://acc/con?endpoint=https://x")},
		{spell("consul:", "CONSUL_HTTP_ADDR=a"), spell("consul:", "CONSUL_HTTP_ADDR=b")},
		{spell("consul://h/x"), spell("consul://h/x?compat=consul-lock")},
		{spell("consul://h", "CONSUL_NAMESPACE=a"), spell("consul://h", "CONSUL_NAMESPACE=b")},
		{spell("quorum:", "LEADERRUN_QUORUM_HOSTS=a,b"), spell("quorum:", "LEADERRUN_QUORUM_HOSTS=a,c")},
		{spell("quorum://g,h/x"), spell("quorum://g,h/y")},
		{spell("gossip:", "LEADERRUN_GOSSIP_SEEDS=a"), spell("gossip:", "LEADERRUN_GOSSIP_SEEDS=b")},
		{spell("gossip://h/x?min=2"), spell("gossip://h/y?min=2")},
		{spell("spanner:", "LEADERRUN_SPANNER_DATABASE=a"), spell("spanner:", "LEADERRUN_SPANNER_DATABASE=b")},
		{spell("spanner://p/i/d"), spell("spanner://p/i/d?table=x")},
		{spell("etcd://h", "LEADERRUN_ETCD_PREFIX=a"), spell("etcd://h", "LEADERRUN_ETCD_PREFIX=b")},
	} {
		if test.one == test.other {
			t.Errorf("%q describes two stores", test.one)
		}
	}
	one := spell("etcd://u:p@h", "A=1", "ETCDCTL_USER=u", "ETCDCTL_PASSWORD=p", "HOME=/")
	if other := spell("etcd://u:q@h", "HOME=/", "A=2", "ETCDCTL_USER=v", "ETCDCTL_PASSWORD=q"); one != other {
		t.Errorf("%q and %q are one store", one, other)
	}
	for _, same := range []struct{ one, other string }{
		{spell("zk:", "ZK_AUTH=u:p"), spell("zk:", "ZK_AUTH=v:q")},
		{spell("zk://h?auth-file=a"), spell("zk://h?auth-file=b")},
		{spell("gcs://b", "GOOGLE_APPLICATION_CREDENTIALS=a"), spell("gcs://b", "GOOGLE_APPLICATION_CREDENTIALS=b")},
	} {
		if same.one != same.other {
			t.Errorf("%q and %q are one store", same.one, same.other)
		}
	}
	for _, dir := range []string{"file:///a", "file:"} {
		if one, other := spell(dir), spell(dir+"?fs=any"); one != other {
			t.Errorf("%q and %q are one store", one, other)
		}
	}
	if other := spell("toy://h"); other != "" {
		t.Errorf("a backend that is not ours: got %q, want none", other)
	}
	for _, b := range known.Backends() {
		if at := b.Scheme + "://h/p"; spell(at) == "" || spell(at) == spell(b.Scheme+"://h/q") {
			t.Errorf("%s: two stores have one description", b.Scheme)
		}
		for _, v := range b.Variables {
			differ := spell(b.Scheme+":", v.Name+"=a") != spell(b.Scheme+":", v.Name+"=b")
			if place := v.About != backend.User && v.About != backend.Refusal && !v.Secret; differ != place {
				t.Errorf("%s: %s makes it another store: %v", b.Scheme, v.Name, differ)
			}
		}
	}
}

// TestStoreHasNoSecret: what a socket tells about the store neither contains a secret nor
// depends on one, because whoever reads it could guess a weak one. Not even an address is
// told.
func TestStoreHasNoSecret(t *testing.T) {
	t.Parallel()
	const one, other = "hunter1", "hunter2"
	told := func(t *testing.T, address string, env ...string) string {
		t.Helper()
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		s, err := socket.Serve(func() socket.Answer { return socket.Answer{Lock: "x", Store: store(u, env)} })
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		a, err := socket.Ask(s.Address(), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		a.Now, a.Asked = 0, 0
		answer := fmt.Sprint(a)
		if strings.Contains(answer, one) || strings.Contains(answer, other) {
			t.Errorf("%s, %q: the answer tells it: %s", address, env, answer)
		}
		return answer
	}
	for _, b := range known.Backends() {
		at := b.Scheme + "://h/p"
		same := func(spell func(secret string) string) {
			t.Helper()
			if a, b := told(t, spell(one)), told(t, spell(other)); a != b {
				t.Errorf("%s depends on the secret", spell("SECRET"))
			}
		}
		same(func(secret string) string { return b.Scheme + "://u:" + secret + "@h/p" })
		same(func(secret string) string { return at + "?unknown=" + secret })
		same(func(secret string) string { return b.Scheme + ":" + secret })
		for _, p := range b.Params {
			same(func(secret string) string { return at + "?" + p.Name + "=" + url.QueryEscape("http://u:"+secret+"@h") })
		}
		variables := append(slices.Clone(b.Variables), backend.Variable{Name: "LEADERRUN_" + strings.ToUpper(b.Scheme) + "_NEW", Secret: true})
		for _, v := range variables {
			a, b := told(t, at, v.Name+"="+one), told(t, at, v.Name+"="+other)
			if v.Secret && a != b {
				t.Errorf("%s: the answer depends on the secret", v.Name)
			}
			if told(t, at, v.Name+"=http://u:"+one+"@h") != told(t, at, v.Name+"=http://u:"+other+"@h") {
				t.Errorf("%s: the answer depends on a password in an address", v.Name)
			}
		}
	}
}
