package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A health check has its own exit, and does not change the job.
func TestHealthCheck(t *testing.T) {
	t.Parallel()
	inEachTier(t, func(t *testing.T, g *guard.Client, _ guard.Tier) {
		j := startUnder(t, g, await("end")+"exit 6")
		for text, want := range map[string]proc.Exit{
			"exit 0":        {},
			"exit 3":        {Code: 3},
			"kill -TERM $$": {Signal: syscall.SIGTERM},
			"sleep 0.01":    {},
		} {
			if got := j.ended(j.check(text)); got != want {
				t.Errorf("%s: got %v, want %v", text, got, want)
			}
			j.goesOn()
		}
		j.touch("end")
		if got := j.exits(); got.Code != 6 {
			t.Errorf("the job: got %v, want 6", got)
		}
		if !proc.IsClosed(j.Gone()) {
			t.Error("no health check was running, but the job was not gone at its exit")
		}
	})
}

// A health check has its own group and no input.
func TestHealthCheckItsSurroundings(t *testing.T) {
	t.Parallel()
	r := prepare(t, "", `echo ready >$D/ready; exec $DEAF`)
	stdin, err := os.Open(write(t, filepath.Join(r.dir, "stdin"), "in\n", 0o600))
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := os.Create(filepath.Join(r.dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	r.cmd.Stdin, r.cmd.Stdout = stdin, stdout
	r.start()
	r.isRunning()
	r.tell(`check read -r pid _ _ parent group _ </proc/$$/stat; echo $pid $group; cat`)
	if got := r.said("check ended"); got != "0" {
		t.Errorf("got %s, want 0", got)
	}
	got := strings.Fields(r.read("stdout"))
	if len(got) != 2 || got[0] != got[1] {
		t.Errorf("got process, group and input %v", got)
	}
	r.kill()
	r.becomesFree()
}

// The job is not gone before the health check is.
func TestHealthCheckOutlivesTheFirst(t *testing.T) {
	t.Parallel()
	inEachTier(t, func(t *testing.T, g *guard.Client, _ guard.Tier) {
		j := startUnder(t, g, await("first")+"exit 4")
		a := j.check(await("check") + "exit 5")
		j.touch("first")
		if got := j.exits(); got.Code != 4 {
			t.Errorf("got %v, want 4", got)
		}
		if proc.IsClosed(j.Gone()) {
			t.Fatal("the job is gone, but a health check is running")
		}
		if _, err := j.CheckHealth(j.command("exit 0")); !errors.Is(err, proc.ErrUnguarded) {
			t.Errorf("check a job that has ended: got %v", err)
		}
		j.touch("check")
		if got := j.ended(a); got.Code != 5 {
			t.Errorf("got %v, want 5", got)
		}
		until(t, "the job is gone", j.isGone)
	})
}

const deafCheck = `trap '' TERM INT HUP QUIT; echo ready >$D/check; while :; do sleep 1; done`

// A kill of the job kills the health check.
func TestHealthCheckIsKilledWithTheJob(t *testing.T) {
	t.Parallel()
	inEachTier(t, func(t *testing.T, g *guard.Client, tier guard.Tier) {
		daemon := `setsid sh -c 'trap "" TERM; echo ready >$D/daemon; while :; do sleep 1; done' & `
		if tier == guard.Pgroup { // the check would have left the group
			daemon = `echo ready >$D/daemon; `
		}
		j := startUnder(t, g, idle)
		a := j.check(daemon + deafCheck)
		j.wrote("check")
		j.wrote("daemon")
		if err := j.Kill(); err != nil {
			t.Error(err)
		}
		until(t, "the job is gone", j.isGone)
		if left := j.alive(""); len(left) > 0 {
			t.Errorf("the job is gone, but %v are left", left)
		}
		if got := j.ended(a); got.Signal != syscall.SIGKILL {
			t.Errorf("got %v, want KILL", got)
		}
		if _, err := j.CheckHealth(j.command("exit 0")); !errors.Is(err, proc.ErrUnguarded) {
			t.Errorf("check a job that is gone: got %v", err)
		}
	})
}

// No health check is started while a job is being killed.
func TestHealthCheckADyingJob(t *testing.T) {
	t.Parallel()
	j := start(t, idle)
	for range 20 {
		_ = j.Kill()
		if a, err := j.CheckHealth(j.command("sleep 1000")); err == nil {
			j.ended(a)
			t.Error("it was started")
		} else if !errors.Is(err, proc.ErrUnguarded) {
			t.Errorf("got %v", err)
		}
	}
}

// A kill of the health check kills its group, and nothing else.
func TestHealthCheckKill(t *testing.T) {
	t.Parallel()
	inEachTier(t, func(t *testing.T, g *guard.Client, tier guard.Tier) {
		j := startUnder(t, g, idle)
		a := j.check(`(trap '' TERM; exec sleep 4711) & setsid sleep 4712 & ` + deafCheck)
		j.wrote("check")
		until(t, "all run", func() bool { return len(j.alive("sleep 4711")) == 1 && len(j.alive("sleep 4712")) == 1 })
		for range 3 {
			a.Kill()
		}
		if got := j.ended(a); got.Signal != syscall.SIGKILL {
			t.Errorf("got %v, want KILL", got)
		}
		until(t, "its group is dead", func() bool { return len(j.alive("sleep 4711")) == 0 })
		if len(j.alive("sleep 4712")) != 1 {
			t.Error("a process that had left the group was killed")
		}
		j.goesOn()
		a.Kill()
		if got := j.ended(j.check("exit 3")); got.Code != 3 { // the late kill does not hit it
			t.Errorf("the next check: got %v, want 3", got)
		}
		j.end()
		if left := j.alive(""); tier != guard.Pgroup && len(left) > 0 {
			t.Errorf("the job is gone, but the health check is not: %v", left)
		} else if tier == guard.Pgroup {
			for _, pid := range left {
				p := processOf(pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				p.reap() // if it has become our child
			}
		}
	})
}

// Processes that a health check leaves in its group are killed in the tier in which they could
// not be found again. In other tiers they belong to the job.
func TestHealthCheckLeavesSomething(t *testing.T) {
	t.Parallel()
	inEachTier(t, func(t *testing.T, g *guard.Client, tier guard.Tier) {
		j := startUnder(t, g, await("end"))
		if got := j.ended(j.check("sleep 4711 & exit 2")); got.Code != 2 {
			t.Errorf("got %v, want 2", got)
		}
		if tier == guard.Pgroup {
			until(t, "the rest is dead", func() bool { return len(j.alive("sleep 4711")) == 0 })
			j.touch("end")
			j.exits()
			until(t, "the job is gone", j.isGone)
			return
		}
		until(t, "the rest is there", func() bool { return len(j.alive("sleep 4711")) == 1 })
		j.touch("end")
		j.exits()
		if proc.IsClosed(j.Gone()) {
			t.Error("the job is gone, but the health check is not")
		}
		j.end()
		if len(j.alive("")) > 0 {
			t.Error("the job is gone, but the health check is not")
		}
	})
}
