package zookeeper_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// The nodes of the usual lock's request and record.
const (
	askNode    = "/p/jobs%2Fnightly%ask"
	recordNode = "/p/jobs%2Fnightly%record"
)

func (o operator) exists(path string) bool {
	o.t.Helper()
	exists, _, err := o.Exists(path)
	if err != nil {
		o.t.Fatal(err)
	}
	return exists
}

// testDeletionIsNotRepeated loses the answer to the deletion of a request. The next request
// has the same version, and must not be deleted unread.
func testDeletionIsNotRepeated(t *testing.T, s *root) {
	m := intercept(t, s)
	l, w := handle(t, m.url()+"/p", options("a")), handle(t, s.URL()+"/p", options("w"))
	token := drive.Hold(t, l).Token
	var lost atomic.Bool
	m.answers(func(op int32, _ []byte) bool {
		if op != opDelete || lost.Swap(true) {
			return true
		}
		drive.Ask(t, w, token, "second")
		return false
	})
	drive.Ask(t, w, token, "first")
	drive.IsAsked(t, l, "first")
	drive.Eventually(t, drive.Patience, "an answer is lost", lost.Load)
	drive.Renew(t, l)
	drive.IsAsked(t, l, "second")
}

// testStaleRequest checks that the next holder deletes an unread request, without
// receiving it.
func testStaleRequest(t *testing.T, s *root) {
	op := operate(t, s)
	a, b, w := handle(t, s.URL()+"/p", options("a")), handle(t, s.URL()+"/p", options("b")), handle(t, s.URL()+"/p", options("w"))
	token := drive.Hold(t, a).Token
	drive.Release(t, a)
	drive.Ask(t, w, token, "too late")
	if op.exists(askNode) {
		t.Error("a request to a former holder was written")
	}
	op.put(askNode, `{"token":1,"nonce":"x","text":"stale"}`)
	token = drive.Hold(t, b).Token
	drive.Eventually(t, drive.Patience, "the stale request is deleted", func() bool { return !op.exists(askNode) })
	drive.Ask(t, w, token, "fresh")
	drive.IsAsked(t, b, "fresh")
}

// testNodesOfOthers checks that a holder that may not read or write these nodes gets an
// error, and keeps the lock.
func testNodesOfOthers(t *testing.T, s *root) {
	op := operate(t, s)
	op.put("/p", "")
	for _, path := range []string{askNode, recordNode} {
		if err := op.Create(path, []byte("secret"), zk.FlagPersistent, zk.DigestACL(zk.PermAll, "other", "user")); err != nil {
			t.Fatal(err)
		}
	}
	var log drive.Log
	o := options("a")
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	l := handle(t, s.URL()+"/p", o)
	token := drive.Hold(t, l).Token
	_, err := l.Record(drive.Context(t))
	for what, err := range map[string]error{"record": err, "set record": l.SetRecord(drive.Context(t), []byte("x")), "ask": l.Ask(drive.Context(t), token, []byte("x"))} {
		if !errors.Is(err, locks.ErrDenied) {
			t.Errorf("%s: %v; want ErrDenied", what, err)
		}
	}
	logged := func() int { return strings.Count(log.String(), "cannot read requests") }
	drive.Eventually(t, drive.Patience, "the log says that requests cannot be read", func() bool { return logged() > 0 })
	for range 5 {
		drive.Renew(t, l)
	}
	if n := logged(); n != 1 {
		t.Errorf("logged %d times; want 1", n)
	}
	drive.Release(t, l)
}
