package guard_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A guard that does not answer the start order counts as failed, and whatever it may have
// started is killed.
func TestGuardFrozenAtTheStart(t *testing.T) {
	t.Parallel()
	r := launch(t, "", hardy["other sessions"], "-freeze", "-deadline", within(3*time.Second))
	if got, want := r.said("failed"), "the guard process does not answer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.said("gone")
	_ = r.cmd.Wait()
	if left := r.left(); len(left) > 0 || r.read("ready") != "" {
		t.Errorf("the job was started: %v", left)
	}
}

// leaderrun does not wait for a guard that does not answer the start order, even if the guard
// leaves much of the order unread. It handles later commands, and if the guard must kill, the
// guard counts as failed like any other.
func TestGuardFrozenAtTheStartIsNeeded(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"short": "", "long": "export LONG=$(head -c 100000 /dev/zero | tr '\\0' x) A=$LONG B=$LONG C=$LONG;"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := launch(t, before, hardy["other sessions"], "-freeze")
			r.said("asked")
			r.tell("stop\nkill")
			if got, want := r.said("failed"), "the guard process does not answer"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			r.said("gone")
			_ = r.cmd.Wait()
			if left := r.left(); len(left) > 0 || r.read("ready") != "" {
				t.Errorf("the job was started: %v", left)
			}
		})
	}
}

// A guard that was only slow to answer carries out the orders that were sent meanwhile.
func TestGuardSlowAtTheStart(t *testing.T) {
	t.Parallel()
	r := launch(t, "", `trap 'exit 5' TERM; echo ready >$D/ready; while :; do sleep 0.01; done`, "-freeze", "-deadline", "1h")
	r.guard = processOf(r.number("guard"))
	r.said("asked")
	r.tell("extend 2h")
	r.said("did extend")
	r.signal(r.guard.pid, syscall.SIGCONT)
	r.isRunning()
	r.tell("stop")
	r.said("gone")
	if got := r.number("exited"); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
	r.nothingLeft()
}

// If a job cannot be killed after a start order without an answer, Failed receives the
// failure, Gone returns false, and nothing blocks.
func TestUnkillableAtTheStart(t *testing.T) {
	t.Parallel()
	g := guard.Begin(nil)
	t.Cleanup(g.Close)
	var looks atomic.Int64
	var mortal atomic.Bool
	g.SetSweep(func([]int) (clean bool) {
		looks.Add(1)
		return mortal.Load()
	})
	if err := syscall.Kill(g.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	g.SetPatience(0)
	j, err := g.Start(proc.Command{Path: "/bin/true", Args: []string{"true"}}, clock.Never)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_ = j.Kill()
		_ = j.Stop(syscall.SIGINT)
	}
	if err := <-j.Failed(); !errors.Is(err, proc.ErrUnguarded) {
		t.Errorf("got %v", err)
	}
	until(t, "leaderrun has looked for processes", func() bool { return looks.Load() > 3 })
	if proc.IsClosed(j.Gone()) || j.PID() != 0 {
		t.Errorf("gone %t, process %d", proc.IsClosed(j.Gone()), j.PID())
	}
	mortal.Store(true)
	until(t, "the job is gone", func() bool { return proc.IsClosed(j.Gone()) })
}

// leaderrun does not start a job after its deadline. TestSpawnTooLate tests the guard.
func TestTooLate(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	j, err := begin(t).Begun(proc.Command{Path: "/usr/bin/env", Args: []string{"env", "touch", ran}, Env: os.Environ()}, clock.Boot{}.Now()-1)
	if err == nil {
		<-j.Exited()
		t.Error("the job was started")
	}
	var start *proc.StartError
	if errors.As(err, &start) {
		t.Errorf("got %v, want no error of the command", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the job ran")
	}
}

// A long environment reaches a guard that is slow to read it.
func TestLongStart(t *testing.T) {
	t.Parallel()
	env := os.Environ()
	for n := range 15 {
		env = append(env, fmt.Sprintf("LONG%d=%s", n, strings.Repeat("x", 100_000)))
	}
	j, err := begin(t).Begun(proc.Command{Path: "/bin/sh", Args: []string{"sh", "-c", `test ${#LONG14} = 100000`}, Env: env}, clock.Never)
	if err != nil {
		t.Fatal(err)
	}
	<-j.Exited()
	if got := j.Exit(); got.Code != 0 {
		t.Errorf("got %v", got)
	}
	_, err = begin(t).Begun(proc.Command{Path: "/bin/sh", Args: []string{"sh"}, Env: []string{strings.Repeat("x", 20<<20)}}, clock.Never)
	if !errors.Is(err, syscall.E2BIG) {
		t.Errorf("got %v, want E2BIG", err)
	}
}

// A guard that could not run at its deadline kills when it can, and says how late that was.
func TestGuardSaysLate(t *testing.T) {
	t.Parallel()
	r := running(t, "", hardy["deaf"], "-deadline", within(4*time.Second))
	deadline := r.instant("deadline")
	for _, pid := range []int{r.leaderrun, r.guard.pid} {
		r.signal(pid, syscall.SIGSTOP)
	}
	until(t, "the deadline has passed", func() bool { return clock.Boot{}.Now() > deadline.Add(300*time.Millisecond) })
	r.signal(r.guard.pid, syscall.SIGCONT)
	until(t, "the guard says how late it was", func() bool {
		_, late, found := strings.Cut(r.read("stderr"), "leaderrun-guard: warning: killed the job ")
		took, _, _ := strings.Cut(late, " late (of leaderrun "+fmt.Sprint(r.leaderrun)+")")
		d, err := time.ParseDuration(took)
		return found && err == nil && d >= 300*time.Millisecond
	})
	r.signal(r.leaderrun, syscall.SIGCONT)
	r.nothingLeft()
}

// Close does not wait long for a guard that is frozen when it has nothing left to do.
func TestCloseFrozen(t *testing.T) {
	t.Parallel()
	g := guard.Begin(nil)
	if err := syscall.Kill(g.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		g.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("Close waits for the guard")
		_ = syscall.Kill(g.PID(), syscall.SIGKILL)
		<-closed
	}
}
