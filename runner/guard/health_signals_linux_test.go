package guard_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/guard"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// If a health check is suspended, that is not a suspension of the job.
func TestHealthCheckStops(t *testing.T) {
	t.Parallel()
	j := start(t, idle)
	a := j.check(`echo $$ >$D/pid; kill -STOP $$`)
	pid, err := strconv.Atoi(j.wrote("pid"))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "it has stopped", func() bool { state, _, _, _ := stat(pid); return state == "T" })
	a.Kill()
	if got := j.ended(a); got.Signal != syscall.SIGKILL {
		t.Errorf("it was only suspended: got %v, want KILL", got)
	}
	j.goesOn()
	if err := syscall.Kill(j.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	select {
	case sig := <-j.Suspended():
		if sig != syscall.SIGSTOP {
			t.Errorf("got %v", sig)
		}
	case <-time.After(patience):
		t.Error("a suspension of the job was not reported")
	}
}

// Signal does not reach a health check. Stop does.
func TestHealthCheckAndSignals(t *testing.T) {
	t.Parallel()
	const first = `trap 'echo got >$D/got' USR1; trap '' USR2; echo ready >$D/first; `
	for name, text := range map[string]string{
		"first":     first + `while :; do sleep 0.01; done`,
		"leftovers": `(` + first + `while :; do sleep 0.01; done) & ` + await("over"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inEachTier(t, func(t *testing.T, g *guard.Client, tier guard.Tier) {
				if name == "leftovers" && tier == guard.Pidns {
					t.Skip("there is no telling them apart")
				}
				j := startUnder(t, g, text)
				a := j.check(`trap 'echo usr1 >>$D/hits' USR1; trap 'echo usr2 >>$D/hits; exit 5' USR2; echo ready >$D/check; while :; do sleep 0.01; done`)
				j.wrote("first")
				j.wrote("check")
				if j.touch("over"); name == "leftovers" {
					j.exits()
				}
				j.signal(syscall.SIGUSR1)
				j.wrote("got")
				if err := j.Stop(syscall.SIGUSR2); err != nil {
					t.Error(err)
				}
				if got := j.ended(a); got.Code != 5 {
					t.Errorf("got %v, want 5", got)
				}
				if got := j.wrote("hits"); got != "usr2" {
					t.Errorf("it got %q", got)
				}
			})
		})
	}
}

// A check that cannot be started is a StartError, and another one can be started.
func TestHealthCheckNotStarted(t *testing.T) {
	t.Parallel()
	j := start(t, idle)
	for path, missing := range map[string]bool{filepath.Join(j.dir, "none"): true, write(t, filepath.Join(j.dir, "plain"), "x", 0o600): false} {
		_, err := j.CheckHealth(proc.Command{Path: path, Args: []string{"x"}})
		var e *proc.StartError
		if !errors.As(err, &e) || e.NotFound != missing || e.Command != path {
			t.Errorf("got %v, want a StartError with NotFound %t", err, missing)
		}
	}
	long := j.command("exit 0")
	long.Env = []string{strings.Repeat("x", 20<<20)}
	if _, err := j.CheckHealth(long); !errors.Is(err, syscall.E2BIG) {
		t.Errorf("got %v, want E2BIG", err)
	}
	long.Env = []string{strings.Repeat("x", 1<<20)} // the system refuses this, not we
	if _, err := j.CheckHealth(long); !errors.Is(err, syscall.E2BIG) {
		t.Errorf("got %v, want E2BIG", err)
	}
	a := j.check("sleep 1000")
	var e *proc.StartError
	if _, err := j.CheckHealth(j.command("exit 0")); err == nil || errors.As(err, &e) || errors.Is(err, proc.ErrUnguarded) {
		t.Errorf("a second check: got %v", err)
	}
	a.Kill()
	j.ended(a)
	j.goesOn()
}

// An environment that is longer than the socket's buffer arrives whole.
func TestHealthCheckLongEnvironment(t *testing.T) {
	t.Parallel()
	j := start(t, idle)
	c := j.command(`[ "$B$A" = "$A$B" ] && exit ${#A}`)
	c.Env = append(c.Env, "A=xxx", "B=xxx")
	for n := range 10 {
		c.Env = append(c.Env, fmt.Sprintf("LONG%d=%s", n, strings.Repeat("x", 100_000)))
	}
	a, err := j.CheckHealth(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := j.ended(a); got.Code != 3 {
		t.Errorf("got %v, want 3", got)
	}
	j.goesOn()
}

// A guard that is slow to start a check does not count as failed. The check is killed as soon
// as it is started, and until then no other check is started.
func TestHealthCheckGuardIsSlow(t *testing.T) {
	t.Parallel()
	g := begin(t)
	g.SetStartsCheck(50 * time.Millisecond)
	j := startUnder(t, g, idle)
	if err := syscall.Kill(g.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := j.CheckHealth(j.command("sleep 4711")); !errors.Is(err, proc.ErrUnguarded) {
		t.Errorf("got %v", err)
	}
	if _, err := j.CheckHealth(j.command("exit 0")); err == nil {
		t.Error("a second check was started")
	}
	g.SetStartsCheck(patience)
	if err := syscall.Kill(g.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, "another check can be started", func() bool {
		a, err := j.CheckHealth(j.command("exit 3"))
		return err == nil && j.ended(a).Code == 3
	})
	if len(j.alive("sleep 4711")) > 0 {
		t.Error("the late check runs")
	}
	j.goesOn()
}

// Many health checks in a row leave nothing.
func TestHealthCheckManyTimes(t *testing.T) {
	t.Parallel()
	j := start(t, idle)
	count := func(what string) int {
		all, _ := filepath.Glob("/proc/" + strconv.Itoa(j.guard.PID()) + what)
		return len(all)
	}
	run := func(n int) {
		for range n {
			if got := j.ended(j.check("exit 3")); got.Code != 3 {
				t.Fatalf("got %v, want 3", got)
			}
		}
	}
	run(20)
	files, threads := count("/fd/*"), count("/task/*")
	run(180)
	if n := count("/fd/*"); n > files {
		t.Errorf("the guard has %d descriptors, and had %d", n, files)
	}
	if n := count("/task/*"); n > threads+2 {
		t.Errorf("the guard has %d threads, and had %d", n, threads)
	}
	var kids []string // of all threads: each child is listed for the one that started it
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(j.guard.PID()) + "/task/*/children")
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // the thread may have ended
		kids = append(kids, strings.Fields(string(text))...)
	}
	if !slices.Equal(kids, []string{strconv.Itoa(j.PID())}) {
		t.Errorf("the guard has the children %s; want %d only", kids, j.PID())
	}
	j.goesOn()
}
