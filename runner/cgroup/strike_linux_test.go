package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// While cgroup.kill has to wait for a lock of the kernel, Kill has killed the processes that can
// be found, if they are not too many.
func TestKillHeldUp(t *testing.T) {
	t.Parallel()
	for name, script := range runaways {
		if name == "forks in a loop" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := start(t, script)
			j.wrote("ready")
			held := hold(t, j.Group)
			killed := make(chan error, 1)
			go func() { killed <- j.Kill() }()
			until(t, "the group is empty", func() bool { return !populated(t, j.Group) })
			j.gone()
			select {
			case err := <-killed:
				t.Fatalf("the kernel was not asked to kill the group: %v", err)
			default:
			}
			held()
			if err := <-killed; err != nil {
				t.Error(err)
			}
		})
	}
}

// hold lets a pipe that is full stand in for cgroup.kill, until the returned function is called.
func hold(t *testing.T, g *Group) (end func()) {
	t.Helper()
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := unix.Write(ends[1], make([]byte, 1<<16)); errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	out, in := os.NewFile(uintptr(ends[0]), "out"), os.NewFile(uintptr(ends[1]), "in")
	real := g.kill
	g.kill = in
	t.Cleanup(func() {
		g.kill = real
		_, _ = in.Close(), out.Close()
	})
	return func() { _, _ = out.Read(make([]byte, 1<<16)) }
}

// A process that is not in the group is not killed: an id may be used again.
func TestStrikeNoStranger(t *testing.T) {
	t.Parallel()
	list := filepath.Join(newGroup(t).Path(), "cgroup.procs")
	stranger := exec.Command("sleep", "60")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer stranger.Process.Kill()
	s := striker{struck: map[int]bool{}}
	s.kill(list, []int{stranger.Process.Pid})
	if err := stranger.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := stranger.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGUSR1 {
		t.Errorf("the stranger: %v", err)
	}
	if s.kill(list, []int{stranger.Process.Pid}); len(s.struck) > 0 {
		t.Error("a process that was not in the group was struck")
	}
}
