package guard_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// checkIt starts a health check that has a child in its own session.
const checkIt = `check setsid $DEAF & exec $DEAF $(echo check >$D/check)`

// When leaderrun or its guard is killed or frozen, the health check is killed as well.
func TestHealthCheckCrash(t *testing.T) {
	t.Parallel()
	begun := func(t *testing.T, options ...string) *crash {
		t.Helper()
		r := running(t, "", `echo ready >$D/ready; exec sleep 1000`, options...)
		r.tell(checkIt)
		r.said("check started")
		until(t, "it runs", func() bool { return r.read("check") != "" && r.read("pid") != "" })
		return r
	}
	t.Run("leaderrun killed", func(t *testing.T) {
		t.Parallel()
		r := begun(t)
		r.kill()
		r.becomesFree()
		r.nothingLeft()
	})
	t.Run("leaderrun frozen", func(t *testing.T) {
		t.Parallel()
		r := begun(t, "-deadline", within(4*time.Second))
		r.signal(r.leaderrun, syscall.SIGSTOP)
		until(t, "all is dead", func() bool { return len(r.left()) == 0 })
		r.signal(r.leaderrun, syscall.SIGCONT)
		if got := r.said("check ended"); got != "137" {
			t.Errorf("got %s, want 137", got)
		}
		r.said("gone")
	})
	t.Run("guard killed", func(t *testing.T) {
		t.Parallel()
		r := begun(t)
		r.signal(r.guard.pid, syscall.SIGKILL)
		r.said("gone")
		r.nothingLeft()
		if got, want := r.said("failed"), "the guard process has died"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := r.said("check ended"); got != "137" {
			t.Errorf("got %s, want 137", got)
		}
	})
	t.Run("guard frozen", func(t *testing.T) {
		t.Parallel()
		r := begun(t)
		r.signal(r.guard.pid, syscall.SIGSTOP)
		r.tell("kill")
		r.said("failed")
		r.said("gone")
		r.nothingLeft()
		if got := r.said("check ended"); got != "137" {
			t.Errorf("got %s, want 137", got)
		}
	})
	t.Run("guard killed before it answers", func(t *testing.T) {
		t.Parallel()
		r := running(t, "", hardy["deaf"])
		r.signal(r.guard.pid, syscall.SIGSTOP)
		r.tell(checkIt)
		r.said("did check")
		r.signal(r.guard.pid, syscall.SIGKILL)
		if got, want := r.said("check refused"), "the guard process has died"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		r.said("gone")
		r.nothingLeft()
	})
	t.Run("both killed", func(t *testing.T) {
		t.Parallel()
		r := running(t, "", hardy["deaf"])
		r.tell(`check echo $$ >$D/check; exec sleep 1000`)
		until(t, "it runs", func() bool { return r.read("check") != "" })
		pid, err := strconv.Atoi(strings.TrimSpace(r.read("check")))
		if err != nil {
			t.Fatal(err)
		}
		p := processOf(pid)
		r.signal(r.leaderrun, syscall.SIGSTOP)
		r.signal(r.guard.pid, syscall.SIGKILL)
		until(t, "it is dead", func() bool { return !p.alive() })
		r.kill()
	})
}

// A guard that is frozen for a while, in the middle of a long order to start a health check,
// does not count as failed, because leaderrun does not need it at that moment.
func TestHealthCheckGuardIsAwayForAWhile(t *testing.T) {
	t.Parallel()
	r := running(t, "", hardy["deaf"], "-deadline", "1h")
	r.signal(r.guard.pid, syscall.SIGSTOP)
	r.tell("check-long exit 3")
	r.tell("extend 2h") // it does not wait for the guard
	r.said("did extend")
	away := time.Now()
	until(t, "the guard was frozen for longer than a busy machine may delay it", func() bool { return time.Since(away) > time.Second })
	r.signal(r.guard.pid, syscall.SIGCONT)
	if got := r.said("check ended"); got != "3" {
		t.Errorf("got %s, want 3", got)
	}
	if strings.Contains(r.read("log"), "failed") || !r.job.alive() {
		t.Error("the job was ended")
	}
	r.tell("kill")
	r.said("gone")
	r.nothingLeft()
}
