package testscripts

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// A taskGroup is a cgroup with a limit of tasks.
type taskGroup struct {
	t        *testing.T
	dir      string // of the cgroup
	work     string // of the locks
	released string // the program
}

// newTaskGroup makes a cgroup, or skips the test.
func newTaskGroup(t *testing.T) *taskGroup {
	t.Helper()
	build(t, &released, programs.Leaderrun)
	g := &taskGroup{t: t, work: t.TempDir(), released: released.Path("leaderrun")}
	for _, parent := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		dir, err := os.MkdirTemp(parent, "leaderrun-storm-")
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "pids.max")); err != nil {
			_ = os.Remove(dir)
			continue
		}
		g.dir = dir
		t.Cleanup(g.remove)
		return g
	}
	t.Skip("no cgroup with a limit of tasks can be made")
	return nil
}

// remove removes the cgroup when its processes have ended.
func (g *taskGroup) remove() {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := os.Remove(g.dir)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			left, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
			g.t.Errorf("%v; left: %q", err, left)
			return
		}
	}
}

func (g *taskGroup) limit(n int) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, "pids.max"), []byte(strconv.Itoa(n)), 0); err != nil {
		g.t.Fatal(err)
	}
}

// A stormy is a leaderrun in the cgroup.
type stormy struct {
	*exec.Cmd
	out bytes.Buffer
}

// start starts leaderrun. A process can join a cgroup that is full.
func (g *taskGroup) start(args ...string) *stormy {
	g.t.Helper()
	s := &stormy{Cmd: exec.Command("sh", append([]string{"-c", `echo $$ >$0/cgroup.procs && exec "$@"`, g.dir, g.released, "-b", "file://" + g.work + "/locks"}, args...)...)}
	s.Stdout, s.Stderr = &s.out, &s.out
	if err := s.Start(); err != nil {
		g.t.Fatal(err)
	}
	return s
}

// ends waits for leaderrun, and returns its status.
func (s *stormy) ends() int {
	_ = s.Wait()
	return s.ProcessState.ExitCode()
}

// storm starts many runs at one moment, and counts how they end.
func (g *taskGroup) storm(n int, args ...string) map[int]int {
	g.t.Helper()
	var all []*stormy
	for i := range n {
		all = append(all, g.start(append([]string{"-l", fmt.Sprint("job", i)}, args...)...))
	}
	statuses := map[int]int{}
	for _, s := range all {
		status := s.ends()
		if statuses[status]++; status != 0 && status != 71 {
			g.t.Errorf("status %d: %s", status, &s.out)
		}
		if lines := strings.Count(s.out.String(), "\n"); lines > 1 {
			g.t.Errorf("more than a line: %s", &s.out)
		}
	}
	return statuses
}

// If there is room for some of the runs that start at one moment, the others wait for it, as
// long as they may.
func TestStorm(t *testing.T) {
	t.Parallel()
	g := newTaskGroup(t)
	// 16 runs take 350, of which 5 each before they are in main: there must be room for these beside
	// those that run already, because Go aborts a program that finds none.
	g.limit(200)
	if got := g.storm(16, "--", "sleep", "0.3"); got[0] != 16 {
		t.Errorf("statuses %v, want only 0", got)
	}
	got := g.storm(16, "-w", "0.5", "--", "sleep", "3")
	t.Logf("with -w 0.5: %v", got)
	if got[0] == 0 || got[71] == 0 {
		t.Errorf("statuses %v, want some 0 and some 71", got)
	}
}

// If nothing can be started under the lock, whether the job, its guard or one of the guard's
// threads finds no room, nothing else is reported.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	for _, spare := range []int{0, 1, 3, 4, 5, 6, 7, 8, 10} {
		t.Run(fmt.Sprint(spare), func(t *testing.T) {
			t.Parallel()
			g := newTaskGroup(t)
			g.limit(1000)
			// The hook's guard, of 9 tasks, and the hook leave; the job's guard has the rest.
			hook := filepath.Join(g.work, "hook")
			text := fmt.Sprintf("read n <%[1]s/pids.current; echo $((n - 10 + %[2]d)) >%[1]s/pids.max\n", g.dir, spare)
			if err := os.WriteFile(hook, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s := g.start("-l", "x", "-w", "3", "--on-elected", "sh "+hook, "--", "true")
			switch got := s.ends(); {
			case got == 0 && spare > 7: // enough for a guard and the job
			case got != 71 || s.out.String() != noRoom:
				t.Errorf("status %d: %s", got, &s.out)
			}
		})
	}
}

// A signal ends a run inside a job that waits for room.
func TestSignalWithoutRoom(t *testing.T) {
	t.Parallel()
	g := newTaskGroup(t)
	g.limit(1000)
	// There is room for the Go runtime, but not for a guard.
	inner := fmt.Sprintf(`read n <%[1]s/pids.current; echo $((n + 8)) >%[1]s/pids.max; echo $$ >%[2]s/pid; exec "$0" -b file://%[2]s/locks -l y -- true 2>%[2]s/said`, g.dir, g.work)
	s := g.start("-l", "x", "--", "sh", "-c", inner, g.released)
	defer time.AfterFunc(time.Minute, func() { _ = s.Process.Kill() }).Stop()
	for said := ""; !strings.Contains(said, "; waiting"); time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(g.work, "said"))
		said = string(text)
	}
	pid, err := os.ReadFile(filepath.Join(g.work, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err := syscall.Kill(n, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if got := s.ends(); got != 143 {
		t.Errorf("status %d: %s", got, &s.out)
	}
}

const noRoom = "leaderrun: error: the machine is out of tasks (threads, processes): nothing was started; " +
	"raise the limit (ulimit -u; TasksMax= of a unit; pids.max of a cgroup; sysctl kernel.pid_max)\n"
