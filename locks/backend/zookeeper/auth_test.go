package zookeeper_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/recipe/queue"
)

// TestServerThatEnforcesAuth uses a server that refuses every request on a connection
// without a user.
func TestServerThatEnforcesAuth(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{Java: []string{"-Dzookeeper.enforce.auth.enabled=true", "-Dzookeeper.enforce.auth.schemes=digest"}})
	address := "zk://me:secret@" + s.Addr() + "/p"
	w, a := handle(t, address, options("w")), handle(t, address, options("a"))
	changes := drive.Watch(t, w, true)
	token := drive.Hold(t, a).Token
	write(t, a)
	drive.Changed(t, changes, "a leads", func() bool { return drive.Inspect(t, w).Holder == "a" })
	if got := probe(t, address, options("w")).Servers[0]; got.Error != "" || got.Role != "standalone" {
		t.Errorf("got %+v", got)
	}
	if all, _ := drive.List(t, w); len(all) != 1 || all["jobs/nightly"].Status.Token != token {
		t.Errorf("listed: %+v", all)
	}
	if err := w.Break(drive.Context(t), token); err != nil {
		t.Error(err)
	}
	drive.Changed(t, changes, "nobody leads", func() bool { return !drive.Inspect(t, w).Held })
	drive.Release(t, a)
	if err := w.Forget(drive.Context(t)); err != nil {
		t.Error(err)
	}
}

// A userFile is a lock whose contenders have their users in a file.
type userFile struct {
	*root
	t    *testing.T
	file string
}

func (c userFile) users(words ...string) {
	c.t.Helper()
	if err := os.WriteFile(c.file, []byte(strings.Join(words, "\n")+"\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c userFile) URL() string { return c.root.URL() + "/p?auth-file=" + c.file }

// give gives all nodes to users, like an operator who has both the old and the new one.
func (c userFile) give(words ...string) {
	c.t.Helper()
	op := operate(c.t, c.root)
	var acl []zk.ACL
	for _, word := range words {
		user, password, _ := strings.Cut(word, ":")
		acl = append(acl, zk.DigestACL(zk.PermAll, user, password)...)
	}
	for _, word := range []string{oldUser, newUser} {
		if err := op.conn.AddAuth("digest", []byte(word)); err != nil {
			c.t.Fatal(err)
		}
	}
	var all func(path string)
	all = func(path string) {
		names, _, err := op.Children(path)
		if err == nil {
			_, err = op.conn.SetACL(op.root+path, acl, -1)
		}
		if err != nil && err != zk.ErrNoNode {
			c.t.Fatal(err)
		}
		for _, name := range names {
			all(path + "/" + name)
		}
	}
	all("/p")
}

const oldUser, newUser = "me:old", "me:new"

// testPasswordReplaced checks that a contender with a session continues when the file has
// another password, and so does another process that adopts the session, before and after
// all nodes are given to the new user. If the file is unusable, its last contents are used,
// and the log says so.
func testPasswordReplaced(t *testing.T, s *root) {
	c := userFile{s, t, filepath.Join(t.TempDir(), "auth")}
	c.users(oldUser)
	log := new(drive.Log)
	o := options("a")
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	a := handle(t, c.URL(), o)
	token := drive.Hold(t, a).Token
	write(t, a)
	b, done := campaign(drive.Context(t), t, c.URL(), options("b"))
	renew := func() {
		t.Helper()
		drive.Renew(t, a)
		drive.Renew(t, b)
		write(t, a)
	}
	c.users(newUser, "half")
	renew()
	if text := log.String(); strings.Count(text, "level=WARN") != 1 || strings.Contains(text, "half") {
		t.Errorf("want one warning without a password:\n%s", text)
	}
	c.users(newUser)
	renew()
	term := a.Term()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = handle(t, c.URL(), options("a")) // this handle has never had the old user
	if err := a.Adopt(term); err != nil {
		t.Fatal(err)
	}
	renew()
	c.give(newUser)
	renew()
	w := handle(t, c.URL(), options("w"))
	if state := drive.Inspect(t, w); state.Holder != "a" || len(state.Queue) != 1 {
		t.Errorf("got %+v", state)
	}
	changes := drive.Watch(t, w, false)
	drive.Release(t, a)
	r := drive.Within(t, drive.Patience, done)
	if r.Err != nil || r.Grant.Token <= token {
		t.Fatalf("the waiter got %+v, %v", r.Grant, r.Err)
	}
	drive.Changed(t, changes, "b leads", func() bool { return drive.Inspect(t, w).Holder == "b" })
	drive.Release(t, b)
}

// testUsersInTurn checks that with both users in the file, nodes belong to both, and that a
// contender with only the new one needs no other.
func testUsersInTurn(t *testing.T, s *root) {
	c := userFile{s, t, filepath.Join(t.TempDir(), "auth")}
	c.users(oldUser, newUser)
	a := handle(t, c.URL(), options("a"))
	drive.Hold(t, a)
	write(t, a)
	c.users(newUser)
	b, done := campaign(drive.Context(t), t, c.URL(), options("b"))
	drive.Renew(t, a)
	drive.Release(t, a)
	if r := drive.Within(t, drive.Patience, done); r.Err != nil {
		t.Fatal(r.Err)
	}
	write(t, b.(*queue.Lock))
	op := operate(t, s)
	_ = op.conn.AddAuth("digest", []byte(newUser))
	for _, name := range op.entries("/p/jobs%2Fnightly") {
		acl, _, err := op.conn.GetACL(s.path + "/p/jobs%2Fnightly/" + name)
		if want := zk.DigestACL(zk.PermAll, "me", "new"); err != nil || !slices.Equal(acl, want) {
			t.Errorf("a node created by the new user alone belongs to %v (%v)", acl, err)
		}
	}
	drive.Release(t, b)
}
