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

// quiet checks that nothing is told of what was done until now: a change after it is
// one value, and not two.
func quiet(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case _, ok := <-c:
		t.Errorf("told of nothing (open: %t)", ok)
	case <-time.After(100 * time.Millisecond):
	}
}

// TestWatchCompacted: what has changed while the server cannot be reached is told when it
// can be, though its events are compacted; and the watch goes on.
func TestWatchCompacted(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t, etcdtest.Options{})
	op := operate(t, s)
	p := faultproxy.New(t, s.Addr())
	c := drive.Watch(t, handle(t, "etcd://"+p.Addr(), options("w")), false)
	op.put(anEntry, "x")
	drive.Told(t, c)
	p.Refuse()
	op.delete(anEntry)
	op.put("/other", "x")
	op.compact()
	p.Heal()
	drive.Told(t, c)
	op.put(anEntry, "x")
	drive.Told(t, c)
}

// TestChangesAfterLoginExpired: the watch is made again with a login that is valid,
// and is not made with that of another watch of the handle.
func TestChangesAfterLoginExpired(t *testing.T) {
	t.Parallel()
	s, u := authed(t)
	c := drive.Watch(t, handle(t, u, options("w")), true)
	s.Kill() // which forgets all logins
	s.Start()
	o := options("a")
	o.TTL = time.Minute
	l := handle(t, u, o)
	drive.Hold(t, l)
	drive.Told(t, c)
	time.Sleep(tokenLife)
	for len(c) > 0 {
		<-c
	}
	quiet(t, drive.Watch(t, l, true))
	drive.Release(t, l)
	drive.Told(t, c)
}

// TestWatchIsOfThisLock: other locks and other keys are none of its business; all
// locks are, with their records.
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
		drive.Told(t, all)
	}
	quiet(t, one)
	op.put(anEntry, "x")
	drive.Told(t, one)
	drive.Told(t, all)
}

// TestWatchDenied: a watch ends when it is denied meanwhile, and does not begin then.
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
