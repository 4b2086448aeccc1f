package etcd_test

import (
	"errors"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/faultproxy"
)

const anEntry = "/leaderrun/jobs%2Fnightly/1"

// quiet checks that nothing is reported, so that the next change is one value, and not two.
func quiet(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case _, ok := <-c:
		t.Errorf("a change was reported that did not happen (open: %t)", ok)
	case <-time.After(100 * time.Millisecond):
	}
}

// TestWatchCompacted checks that a change that was made while the server could not be
// reached is reported later, although its events were compacted, and that the watch
// continues.
func TestWatchCompacted(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	p := faultproxy.New(t, s.Addr())
	c := drive.Watch(t, handle(t, "etcd://"+p.Addr(), options("w")), false)
	op.put(anEntry, "x")
	drive.Change(t, c)
	p.Refuse()
	op.delete(anEntry)
	op.put("/other", "x")
	op.compact()
	p.Heal()
	drive.Change(t, c)
	op.put(anEntry, "x")
	drive.Change(t, c)
}

// TestChangesAfterLoginExpired checks that the watch starts again with a valid login, and
// not with that of another watch of the handle.
func TestChangesAfterLoginExpired(t *testing.T) {
	t.Parallel()
	s, u := authed(t)
	c := drive.Watch(t, handle(t, u, options("w")), true)
	s.Kill() // so that it forgets all logins
	s.Start()
	o := options("a")
	o.TTL = time.Minute
	l := handle(t, u, o)
	drive.Hold(t, l)
	drive.Change(t, c)
	time.Sleep(tokenLife)
	for len(c) > 0 {
		<-c
	}
	quiet(t, drive.Watch(t, l, true))
	drive.Release(t, l)
	drive.Change(t, c)
}

// TestWatchIsOfThisLock checks that the watch of a lock reports no other keys, and that the
// watch of all locks reports all of them, with their records.
func TestWatchIsOfThisLock(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	one := drive.Watch(t, handle(t, s.URL(), options("w")), false)
	all := drive.Watch(t, handle(t, s.URL(), options("w")), true)
	for _, key := range []string{"/leaderrun/jobs%2Fnightly%ask", "/leaderrun/not a lock/1", "/leaderrun/jobs", "/leaderrun2/jobs/1"} {
		op.put(key, "x")
	}
	quiet(t, all)
	for _, key := range []string{"/leaderrun/jobs%2Fnightly%record", "/leaderrun/jobs/1", "/leaderrun/jobs%2Fnightly.x/1"} {
		op.put(key, "x")
		drive.Change(t, all)
	}
	quiet(t, one)
	op.put(anEntry, "x")
	drive.Change(t, one)
	drive.Change(t, all)
}

// TestWatchDenied checks that a watch ends when its user loses the permission, and that
// none begins without it.
func TestWatchDenied(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	c := drive.Watch(t, handle(t, s.URL(), options("w")), false)
	s.EnableAuth(password, etcdtest.User{Name: "nobody", Password: password})
	s.Kill()
	s.Start()
	ended := make(chan struct{})
	go func() {
		for range c { // there may have been changes
		}
		close(ended)
	}()
	drive.Within(t, drive.Patience, ended)
	for _, user := range []string{"", "nobody:" + password + "@"} {
		if _, err := handle(t, "etcd://"+user+s.Addr(), options("w")).Watch(drive.Context(t), false); !errors.Is(err, locks.ErrDenied) {
			t.Errorf("as %q: %v", user, err)
		}
	}
}
