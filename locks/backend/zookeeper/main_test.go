package zookeeper_test

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

func TestMain(m *testing.M) {
	tester.Forget()
	drive.Parallel("6")
	net.DefaultResolver = names.resolver()
	os.Exit(m.Run())
}

// open returns a handle that is closed when the test ends.
func open(t testing.TB, rawURL string, o locks.Options) locks.Lock {
	t.Helper()
	return drive.Open(t, zookeeper.Open, rawURL, o)
}

// handle is like open, and returns the concrete type.
func handle(t testing.TB, rawURL string, o locks.Options) *queue.Lock {
	t.Helper()
	return open(t, rawURL, o).(*queue.Lock)
}

func options(holder string) locks.Options {
	return locks.Options{Name: "jobs/nightly", Holder: holder, TTL: 10 * time.Second, ConnectTimeout: trial.Stretch(5 * time.Second), Version: "test"}
}

// An operator reads and changes a server's nodes below a root during a test.
type operator struct {
	t    testing.TB
	root string
	conn *zk.Conn
}

func operate(t testing.TB, s *root) operator {
	c := s.Client()
	t.Cleanup(c.Close)
	return operator{t, s.path, c}
}

func (o operator) Children(path string) (names []string, stat *zk.Stat, err error) {
	err = sent(func() error { names, stat, err = o.conn.Children(o.root + path); return err })
	return names, stat, err
}

func (o operator) Exists(path string) (exists bool, stat *zk.Stat, err error) {
	err = sent(func() error { exists, stat, err = o.conn.Exists(o.root + path); return err })
	return exists, stat, err
}

func (o operator) Get(path string) (data []byte, stat *zk.Stat, err error) {
	err = sent(func() error { data, stat, err = o.conn.Get(o.root + path); return err })
	return data, stat, err
}

func (o operator) Delete(path string) error {
	return sent(func() error { return o.conn.Delete(o.root+path, -1) })
}

func (o operator) Create(path string, data []byte, flags int32, acl []zk.ACL) error {
	return sent(func() error { _, err := o.conn.Create(o.root+path, data, flags, acl); return err })
}

// sent repeats a request until it was sent: when an attempt to connect fails, as it may on
// a busy machine, the library drops the requests that wait for it.
func sent(request func() error) error {
	err := request()
	for end := time.Now().Add(drive.Patience); err == zk.ErrNoServer && time.Now().Before(end); {
		err = request()
	}
	return err
}

// entries returns the names of the nodes in a queue, the oldest first.
func (o operator) entries(queue string) []string {
	o.t.Helper()
	names, _, err := o.Children(queue)
	if err != nil && err != zk.ErrNoNode {
		o.t.Fatal(err)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(number(a), number(b)) })
	return names
}

func number(name string) string { return name[strings.LastIndex(name, "_")+1:] }

func (o operator) delete(path string) {
	o.t.Helper()
	if err := o.Delete(path); err != nil && err != zk.ErrNoNode {
		o.t.Fatal(err)
	}
}

// put creates a node, or overwrites it.
func (o operator) put(path string, data string) {
	o.t.Helper()
	err := o.Create(path, []byte(data), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	switch err {
	case zk.ErrNodeExists:
		if err = sent(func() error { _, err := o.conn.Set(o.root+path, []byte(data), -1); return err }); err == zk.ErrNoNode { // a holder has just deleted it
			o.put(path, data)
			return
		}
	case zk.ErrNoNode:
		o.put(path[:strings.LastIndex(path, "/")], "")
		o.put(path, data)
		return
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

// tree returns the paths of all leaves below a node.
func (o operator) tree(root string) (leaves []string) {
	o.t.Helper()
	names, _, err := o.Children(root)
	if err != nil && err != zk.ErrNoNode {
		o.t.Fatal(err)
	}
	for _, name := range names {
		below := o.tree(root + "/" + name)
		if below == nil {
			below = []string{root + "/" + name}
		}
		leaves = append(leaves, below...)
	}
	return leaves
}

// isQueue reports whether a leaf of the tree is an empty queue, which the server deletes
// after some time.
func (o operator) isQueue(path string) bool {
	o.t.Helper()
	if strings.HasSuffix(path, "%record") || strings.HasSuffix(path, "%ask") {
		return false
	}
	exists, stat, err := o.Exists(path)
	if err != nil {
		o.t.Fatal(err)
	}
	return !exists || stat.EphemeralOwner == 0
}

// campaign starts an Acquire, and returns when it waits.
func campaign(ctx context.Context, t testing.TB, rawURL string, o locks.Options) (locks.Lock, <-chan drive.Result) {
	t.Helper()
	return drive.Campaign(ctx, t, zookeeper.Open, rawURL, o)
}
