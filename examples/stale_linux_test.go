package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// staleWrite makes a job write after its lease has ended, as on a machine that was
// frozen: it stops all of leaderrun and the job until another job has led and written,
// and then lets only the first job continue. The command writes the text $1, in a shell.
// staleWrite returns the status of the late write.
func staleWrite(t *testing.T, env []string, command string) int {
	t.Helper()
	dir := t.TempDir()
	env = append(env, startEtcd(t).environment()...)
	run := func(script, text string) *process {
		c := exec.Command("leaderrun", "--lock", "report", "--ttl", "6s", "--", "sh", "-c", script, "sh", text)
		c.Dir, c.Env = dir, env
		return start(t, c)
	}
	stale := run("echo $$ >pid.new; mv pid.new pid; until [ -e go ]; do sleep 0.1; done; ("+command+"); echo $? >status.new; mv status.new status", "stale")
	file := func(name string) string { return strings.TrimSpace(read(t, filepath.Join(dir, name))) }
	eventually(t, "the job runs", func() bool { return file("pid") != "" })
	frozen := tree(t, stale.cmd.Process.Pid)
	t.Cleanup(func() { signalAll(frozen, syscall.SIGCONT) }) // otherwise it would not end
	signalAll(frozen, syscall.SIGSTOP)

	run(command, "fresh").exits(0)

	job, err := strconv.Atoi(file("pid"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go"), "", 0o600)
	signalAll(tree(t, job), syscall.SIGCONT)
	eventually(t, "the late write has ended", func() bool { return file("status") != "" })
	signalAll(frozen, syscall.SIGCONT)
	stale.exits(76)
	status, err := strconv.Atoi(file("status"))
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func signalAll(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // may have ended
	}
}

// tree returns a process and all its descendants.
func tree(t *testing.T, root int) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil { // the process has ended
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		parent, err := strconv.Atoi(strings.Fields(rest)[1])
		if err != nil {
			t.Fatal(err)
		}
		children[parent] = append(children[parent], pid)
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}
