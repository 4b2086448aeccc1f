package run

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/cmd/env"
	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
	"github.com/leaderrun/leaderrun/runner"
	"github.com/leaderrun/leaderrun/runner/proc"
	"github.com/leaderrun/leaderrun/runner/socket"
)

// TestIsHolder: a holder is the enclosing leaderrun only if everything that identifies it
// is equal.
func TestIsHolder(t *testing.T) {
	t.Parallel()
	outer := socket.Answer{Lock: "x", Holder: "me", Token: 7, RunID: "0123", PID: 5}
	same := locks.Status{Held: true, Holder: "me", Token: 7, RunID: "0123", PID: 9, Since: time.Now()}
	if !isHolder(outer, same) {
		t.Error("the same run is not recognised")
	}
	for what, change := range map[string]func(*socket.Answer, *locks.Status){
		"another run":             func(_ *socket.Answer, s *locks.Status) { s.RunID = "4567" },
		"another term of the run": func(_ *socket.Answer, s *locks.Status) { s.Token = 6 },
		"another id":              func(_ *socket.Answer, s *locks.Status) { s.Holder = "you" },
		"no run":                  func(_ *socket.Answer, s *locks.Status) { s.RunID = "" },
		"no token":                func(_ *socket.Answer, s *locks.Status) { s.Token = 0 },
		"no holder":               func(_ *socket.Answer, s *locks.Status) { s.Holder = "" },
		"nothing":                 func(_ *socket.Answer, s *locks.Status) { *s = locks.Status{Held: true} },
		"an older leaderrun":      func(a *socket.Answer, _ *locks.Status) { a.RunID = "" },
		"older ones in both":      func(a *socket.Answer, s *locks.Status) { a.RunID, s.RunID = "", "" },
		"no token in either":      func(a *socket.Answer, s *locks.Status) { a.Token, s.Token = 0, 0 },
		"an empty answer":         func(a *socket.Answer, s *locks.Status) { *a, *s = socket.Answer{}, locks.Status{} },
	} {
		a, s := outer, same
		if change(&a, &s); isHolder(a, s) {
			t.Errorf("%s: mistaken for the enclosing leaderrun", what)
		}
	}
}

// TestReenterAsksAgain: we do not run under the lease of a leaderrun whose last answer does
// not prove that it holds the lock, whatever it answered before.
func TestReenterAsksAgain(t *testing.T) {
	t.Parallel()
	before := socket.Answer{Lock: "x", Token: 7, RunID: "0123"}
	for what, now := range map[string]socket.Answer{
		"lost":         {Lock: "x", Token: 7, RunID: "0123", Lost: true},
		"over":         {Lock: "x", Token: 7, RunID: "0123", Deadline: 1},
		"another term": {Lock: "x", Token: 8, RunID: "0123"},
		"another run":  {Lock: "x", Token: 7, RunID: "4567"},
		"another lock": {Lock: "y", Token: 7, RunID: "0123"},
	} {
		s, err := socket.Serve(func() socket.Answer { return now })
		if err != nil {
			t.Fatal(err)
		}
		p := &session{env: &env.Env{Console: output.NewConsole(os.Stderr)}}
		link := socket.Link{Answer: before, Path: s.Path()}
		nowhere := proc.Command{Path: filepath.Join(t.TempDir(), "none"), Args: []string{"none"}}
		if again, err := p.reenter(new(nest), link, nowhere); again || err != nil {
			t.Errorf("%s: entered, %v", what, err)
		}
		n := &nest{links: []socket.Link{link}}
		status := locks.Status{Token: 7, RunID: "0123"}
		if err := p.enter(n, &runner.OuterError{Status: status}, nowhere); !errors.Is(err, locks.ErrLost) {
			t.Errorf("%s: got %v, want a loss", what, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if again, err := p.reenter(n, link, nowhere); again || err != nil {
			t.Errorf("gone: entered, %v", err)
		}
	}
}

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
		{spell("gossip:", "LEADERRUN_GOSSIP_SEEDS=a"), spell("gossip:", "LEADERRUN_GOSSIP_SEEDS=b")},
		{spell("gossip://h/x?expect=3"), spell("gossip://h/y?expect=3")},
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
			if place := v.About != backend.User && v.About != backend.Refusal; differ != place {
				t.Errorf("%s: %s makes it another store: %v", b.Scheme, v.Name, differ)
			}
		}
	}
}

// TestInStoreOfOthers: an enclosing leaderrun whose store has no description is not taken
// for the holder because of that.
func TestInStoreOfOthers(t *testing.T) {
	t.Parallel()
	n := &nest{links: []socket.Link{{Answer: socket.Answer{Lock: "x"}}}}
	if _, ok := n.inStore(); ok {
		t.Error("an empty description was taken for a store")
	}
}
