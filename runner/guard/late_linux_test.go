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

// A guard that does not answer to the start is given up, and whatever it may have
// started is dead.
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

// Nobody waits for a guard that does not answer to the start, not even when it leaves much
// of that unread: what it is told next is heard, and if it is to kill, it is given up as any
// other.
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

// A guard that was only slow to answer does what it was told meanwhile.
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

// What cannot be killed after a start that nobody answered to keeps nobody from anything:
// it is told that the guard has failed, and that the job is not gone.
func TestUnkillableAtTheStart(t *testing.T) {
	t.Parallel()
	g := guard.Begin()
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
	until(t, "it is seen that something is left", func() bool { return looks.Load() > 3 })
	if j.Gone() || j.PID() != 0 {
		t.Errorf("gone %t, process %d", j.Gone(), j.PID())
	}
	mortal.Store(true)
	until(t, "it is gone", j.Gone)
}

// A job is not started after its deadline. The same of a guard: TestSpawnTooLate.
func TestTooLate(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	j, err := begin(t).Begun(proc.Command{Path: "/usr/bin/env", Args: []string{"env", "touch", ran}, Env: os.Environ()}, clock.Boot{}.Now()-1)
	if err == nil {
		<-j.Exited()
		t.Error("it was started")
	}
	var start *proc.StartError
	if errors.As(err, &start) {
		t.Errorf("got %v, and it is not the command's fault", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it ran")
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

// A guard that is frozen when it has nothing left to do is not waited for.
func TestCloseFrozen(t *testing.T) {
	t.Parallel()
	g := guard.Begin()
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
		t.Error("it is waited for")
		_ = syscall.Kill(g.PID(), syscall.SIGKILL)
		<-closed
	}
}
