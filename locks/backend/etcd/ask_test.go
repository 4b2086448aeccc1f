package etcd_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

// TestAskCompacted checks that a request that was left while the holder had no connection
// is delivered once, even if its event was compacted.
func TestAskCompacted(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	p := faultproxy.New(t, s.Addr())
	o := options("a")
	o.TTL = time.Minute
	l, w := handle(t, "etcd://"+p.Addr(), o), handle(t, s.URL(), options("w"))
	token := drive.Hold(t, l).Token
	drive.Ask(t, w, token, "heard before")
	drive.IsAsked(t, l, "heard before")
	watched(t, s)
	p.Refuse()
	drive.Ask(t, w, token, "lost")
	drive.Ask(t, w, token, "left")
	op.put("/other", "x")
	op.compact()
	p.Heal()
	drive.IsAsked(t, l, "left")
	drive.Ask(t, w, token, "again")
	drive.IsAsked(t, l, "again") // and not "left" a second time
}

// TestRequestsEnd checks that an unread request belongs to a lease and disturbs nobody, and
// that many requests leave only one key.
func TestRequestsEnd(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	l, w := handle(t, s.URL(), options("a")), handle(t, s.URL(), options("w"))
	token := drive.Hold(t, l).Token
	for range 3 {
		drive.Ask(t, w, token, "x")
	}
	drive.Release(t, l)
	drive.Ask(t, w, token, "too late")
	all := op.entries("/")
	if len(all) != 1 || all[0].lease == 0 || strings.Contains(all[0].value, "too late") {
		t.Fatalf("left: %v; want one request with a lease", all)
	}
	ttl, err := op.TimeToLive(drive.Context(t), all[0].lease)
	if err != nil || ttl.GrantedTTL > 70 {
		t.Errorf("its lease: %+v, %v", ttl, err)
	}
}

// TestNarrowRole checks that a user whose role covers only the queue can hold the lock,
// even when others leave requests, and is denied everything else.
func TestNarrowRole(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	s.EnableAuth(password, etcdtest.User{Name: "user", Password: password, Prefix: "/leaderrun/jobs%2Fnightly/"})
	var log drive.Log
	o := options("a")
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	l := handle(t, "etcd://user:"+password+"@"+s.Addr(), o)
	root := handle(t, "etcd://root:"+password+"@"+s.Addr(), options("root"))
	token := drive.Hold(t, l).Token
	if state, err := l.Inspect(drive.Context(t)); err != nil || state.Token != token {
		t.Errorf("inspect: %+v, %v", state, err)
	}
	_, err := l.Record(drive.Context(t))
	for what, err := range map[string]error{"record": err, "set record": l.SetRecord(drive.Context(t), []byte("x")), "ask": l.Ask(drive.Context(t), token, []byte("x"))} {
		if !errors.Is(err, locks.ErrDenied) || !strings.HasSuffix(locks.Hint(err), "--prefix=true /leaderrun/") {
			t.Errorf("%s: %v, hint %q; want ErrDenied", what, err, locks.Hint(err))
		}
	}
	drive.Ask(t, root, token, "resign")
	drive.Eventually(t, drive.Patience, "the log says that requests cannot be read", func() bool { return strings.Contains(log.String(), "cannot read requests") })
	drive.Renew(t, l)
	drive.Release(t, l)
	if state, err := root.Inspect(drive.Context(t)); err != nil || state.Held {
		t.Errorf("after the release: %+v, %v", state, err)
	}
	select {
	case err := <-l.Lost():
		t.Errorf("lost: %v", err)
	default:
	}
	if n := strings.Count(log.String(), "cannot read requests"); n != 1 {
		t.Errorf("logged %d times; want 1", n)
	}
}

// TestRecordOfEntryOverwritten checks that an entry that somebody else wrote is not ours,
// even if it has our key.
func TestRecordOfEntryOverwritten(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	l := handle(t, s.URL(), options("a"))
	drive.Hold(t, l)
	e := op.entries("/")[0]
	op.put(e.key, e.value)
	if err := l.SetRecord(drive.Context(t), []byte("x")); !errors.Is(err, locks.ErrLost) {
		t.Errorf("got %v, want ErrLost", err)
	}
	if got, err := handle(t, s.URL(), options("w")).Record(drive.Context(t)); err != nil || got != nil {
		t.Errorf("written: %q, %v", got, err)
	}
	drive.Release(t, l)
}
