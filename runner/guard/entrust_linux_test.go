package guard_test

import (
	"os"
	"syscall"
	"testing"
)

// waiting returns a leaderrun that has entrusted its guard, and has started nothing.
func waiting(t *testing.T, job string, options ...string) *crash {
	t.Helper()
	r := prepare(t, "", job, append([]string{"-waits"}, options...)...)
	r.make("released.remove", "")
	r.start()
	r.guard = processOf(r.number("guard"))
	if err := r.said("entrusted"); err != "<nil>" {
		t.Fatal(err)
	}
	if file, record := r.free(); file || record {
		t.Error("the lock is free")
	}
	return r
}

// When leaderrun is killed while it waits before the job, the guard releases the lock at once,
// also if leaderrun died before the guard had read anything.
func TestKilledBeforeTheStart(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{"": nil, "frozen": {"-freeze"}, "pidns": {"-tier", "pidns"}, "pgroup": {"-tier", "pgroup"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "pidns" && os.Getuid() != 0 {
				t.Skip("only root has a pid namespace everywhere")
			}
			r := waiting(t, hardy["deaf"], options...)
			r.kill()
			if name == "frozen" {
				r.signal(r.guard.pid, syscall.SIGCONT)
			}
			r.becomesFree()
			r.nothingLeft()
			if _, err := os.Stat(r.dir + "/released.remove"); err == nil || r.read("ready") != "" {
				t.Errorf("the socket is left: %t; the job says %q", err == nil, r.read("ready"))
			}
		})
	}
}

// A guard that is not needed any more does not release the lock: leaderrun decides.
func TestEntrustedClosed(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]string{"unused": "close", "too late": "start"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := waiting(t, hardy["deaf"], "-deadline", "1ns") // a start fails
			r.tell(order)
			until(t, "the guard is gone", func() bool { return !r.guard.alive() })
			r.kill()
			if _, err := os.Stat(r.dir + "/released.remove"); err != nil || r.read("released") != "" {
				t.Errorf("the guard has written %q, and the socket: %v", r.read("released"), err)
			}
		})
	}
}

// An entrusted guard that has started a job releases the lock when nothing of that is left, once.
func TestKilledAfterAWait(t *testing.T) {
	t.Parallel()
	r := waiting(t, hardy["other sessions"])
	r.tell("start")
	r.isRunning()
	if file, record := r.free(); file || record {
		t.Error("the lock is free while the job runs")
	}
	r.kill()
	r.becomesFree()
	r.nothingLeft()
	if got := r.read("released"); got != "release\n" {
		t.Errorf("the guard has written %q", got)
	}
}

// An entrusted guard that has died releases nothing, and leaderrun learns of it at the start.
func TestEntrustedDied(t *testing.T) {
	t.Parallel()
	r := waiting(t, hardy["deaf"])
	r.signal(r.guard.pid, syscall.SIGKILL)
	until(t, "the guard is gone", func() bool { return !r.guard.alive() })
	r.tell("start")
	r.said("refused the guard process had died")
	r.kill()
	if got := r.read("released"); got != "" {
		t.Errorf("the dead guard has written %q", got)
	}
}
