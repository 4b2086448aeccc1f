package guard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// stat returns the state, parent and group of a process, or false if it does not exist.
func stat(pid int) (state string, parent, group int, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, 0, false
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name is in brackets
	_, err = fmt.Sscan(rest, &state, &parent, &group)
	return state, parent, group, err == nil
}

// members returns the processes of a group that are in a state.
func members(group int, in string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(path))
		if state, _, g, ok := stat(pid); ok && g == group && state == in {
			pids = append(pids, pid)
		}
	}
	return pids
}

// The guard adopts orphans of the job and reaps them, even while the job runs, which may be
// for months.
func TestOrphansAreReaped(t *testing.T) {
	t.Parallel()
	j := start(t, `sh -c 'sh -c "echo \$\$ >$D/pid; exec sleep 60" & :'; `+idle)
	pid, err := strconv.Atoi(j.wrote("pid"))
	if err != nil {
		t.Fatal(err)
	}
	_, guard, _, _ := stat(j.PID())
	until(t, "the orphan is the guard's", func() bool { _, parent, _, _ := stat(pid); return parent == guard })
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, "the orphan is reaped", func() bool { _, _, _, ok := stat(pid); return !ok })
	if state, _, _, ok := stat(j.PID()); !ok || state == "Z" {
		t.Errorf("the first process is in state %q", state)
	}
	select {
	case <-j.Exited():
		t.Error("the first process counts as ended")
	default:
	}
}

// A job that was killed leaves no zombie.
func TestNoZombies(t *testing.T) {
	t.Parallel()
	j := start(t, `for i in 1 2 3 4 5; do (sleep 60 & sleep 60) & done; echo ready >$D/ready; wait`)
	j.wrote("ready")
	j.end()
	if z := members(j.PID(), "Z"); len(z) > 0 {
		t.Errorf("zombies: %v", z)
	}
}

// The parent-death signal is bound to the thread that forked. So that thread lives as long as
// the job, although Go ends threads. This guard ends them as fast as it can.
func TestParentDeathIsNotTheThreads(t *testing.T) {
	t.Parallel()
	c := supervised(t, "", "sh", "-c", "sleep 0.3; exit 6")
	c.Env = append(c.Env, threadsVariable+"=1")
	if _ = c.Run(); c.ProcessState.ExitCode() != 6 {
		t.Errorf("got %v, want 6", c.ProcessState)
	}
}
