//go:build bench && linux

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command is a program, its arguments, and additions to an environment of PATH and
// HOME.
type command struct {
	argv []string
	env  []string
}

// shown returns the command as the report shows it.
func (c command) shown() string {
	words := slices.Clone(c.argv)
	words[0] = filepath.Base(words[0])
	for i, w := range words {
		if strings.HasPrefix(w, os.TempDir()) {
			words[i] = filepath.Base(w)
		}
		if rest, ok := strings.CutPrefix(w, "file://"); ok {
			words[i] = "file:///" + filepath.Base(rest)
		}
	}
	return strings.Join(words, " ")
}

func (b *bench) prepare(c command) *exec.Cmd {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home}, c.env...)
	return cmd
}

// A use is what one run took.
type use struct {
	wall     time.Duration
	cpu      time.Duration // user and system time of all its processes, as the rest
	faults   int64         // of pages, those that needed no disk
	switches int64         // of threads that left a processor
}

// add adds what a process that was waited for has used, and its descendants.
func (u *use) add(r *syscall.Rusage) {
	u.cpu += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	u.faults += r.Minflt
	u.switches += r.Nvcsw + r.Nivcsw
}

// breath is the pause before each run, so that the server and the kernel can clean up
// after the previous run, and that does not count.
const breath = 10 * time.Millisecond

// run runs a command to its end. A command that fails, or writes to standard error, ends
// the benchmark.
func (b *bench) run(t *testing.T, c command) use {
	t.Helper()
	b.rewind(t)
	cmd := b.prepare(c)
	cmd.Stderr = b.stderr
	before := children(os.Getpid())
	time.Sleep(breath)
	start := time.Now()
	err := cmd.Run()
	u := use{wall: time.Since(start)}
	b.check(t, c, err)
	u.add(cmd.ProcessState.SysUsage().(*syscall.Rusage))
	u.reapStrays(t, before)
	return u
}

func (b *bench) rewind(t *testing.T) {
	t.Helper()
	if err := b.stderr.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.stderr.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) check(t *testing.T, c command, err error) {
	t.Helper()
	said, readErr := os.ReadFile(b.stderr.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	if err != nil || len(said) > 0 {
		t.Fatalf("%s: %v; stderr: %q", c.shown(), err, said)
	}
}

// reapStrays waits for processes that a command left behind, and adds what they used.
func (u *use) reapStrays(t *testing.T, before []int) {
	t.Helper()
	for _, pid := range children(os.Getpid()) {
		if slices.Contains(before, pid) {
			continue
		}
		var usage syscall.Rusage
		var err error = syscall.EINTR
		for err == syscall.EINTR {
			_, err = syscall.Wait4(pid, nil, 0, &usage)
		}
		if err != nil {
			t.Fatalf("wait for the stray process %d: %v", pid, err)
		}
		u.add(&usage)
	}
}

// children returns the processes whose parent is pid.
func children(pid int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is valid
	for _, list := range lists {
		b, _ := os.ReadFile(list) // a thread that has ended has no children
		for _, field := range strings.Fields(string(b)) {
			var child int
			if _, err := fmt.Sscan(field, &child); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// tree returns a process and all its descendants.
func tree(pid int) []int {
	pids := []int{pid}
	for _, child := range children(pid) {
		pids = append(pids, tree(child)...)
	}
	return pids
}
