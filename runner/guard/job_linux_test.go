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

// stat returns a process's state, parent and group, or false if it is gone.
func stat(pid int) (state string, parent, group int, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, 0, false
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name is in brackets
	_, err = fmt.Sscan(rest, &state, &parent, &group)
	return state, parent, group, err == nil
}

// members returns those processes of a group that are in a state.
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

// Orphans of the job come to the guard, and are reaped: also while the job goes on,
// which may be for months.
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
		t.Errorf("the first process has the state %q", state)
	}
	select {
	case <-j.Exited():
		t.Error("the first process counts as ended")
	default:
	}
}

// No zombie is left of a job that was killed.
func TestNoZombies(t *testing.T) {
	t.Parallel()
	j := start(t, `for i in 1 2 3 4 5; do (sleep 60 & sleep 60) & done; echo ready >$D/ready; wait`)
	j.wrote("ready")
	j.end()
	if z := members(j.PID(), "Z"); len(z) > 0 {
		t.Errorf("zombies: %v", z)
	}
}

// The parent-death signal is tied to the thread that forked, which therefore
// lives as long as the job, though Go ends threads: in this guard as fast as it can.
func TestParentDeathIsNotTheThreads(t *testing.T) {
	t.Parallel()
	c := supervised(t, "", "sh", "-c", "sleep 0.3; exit 6")
	c.Env = append(c.Env, threadsVariable+"=1")
	if _ = c.Run(); c.ProcessState.ExitCode() != 6 {
		t.Errorf("got %v, want 6", c.ProcessState)
	}
}
