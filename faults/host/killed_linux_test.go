package host

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRole is the process that the other tests here start.
func TestRole(t *testing.T) {
	switch os.Getenv(roleVar) {
	case "":
		t.Skip("it is for processes that other tests start")
	case "wait":
		h := New(t, Options{})[0]
		p := start(t, h.Command("/bin/sh", "-c", "setsid sleep 1000 & exec sleep 1001"))
		var stopped Process
		until(t, "a grandchild sleeps", func() bool {
			for _, q := range h.cpu.processes() {
				if startedBy(q.PID) == [2]string{"sleep", "1000"} {
					stopped = q
				}
			}
			return stopped.PID != 0
		})
		if err := errors.Join(h.Signal(stopped, unix.SIGSTOP), h.Starve(1)); err != nil {
			t.Fatal(err)
		}
		fmt.Println("ROLE", h.network.link, h.cpu.dir, h.TempDir(), p.PID, stopped.PID)
		_, _ = os.Stdin.Read(make([]byte, 1))
	case "plain":
		plainRole(t)
	}
}

// role starts this program again as one.
func role(t *testing.T, program, name string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	c := exec.Command(program, "-test.run=^TestRole$", "-test.v")
	c.Env = append(os.Environ(), roleVar+"="+name)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = c.Process.Kill(); _ = c.Wait() })
	return c, bufio.NewScanner(out)
}

// said is what a role says, without the word ROLE.
func said(t *testing.T, out *bufio.Scanner) []string {
	t.Helper()
	var all []string
	for out.Scan() {
		all = append(all, out.Text())
		if f := strings.Fields(out.Text()); len(f) > 0 && f[0] == "ROLE" {
			return f[1:]
		}
	}
	t.Fatalf("it said %q", all)
	return nil
}

// TestKilled kills a test process, and checks what remains of its host at once, and after
// the next process has made one. A stopped process outlives the test process, and keeps
// the namespace.
func TestKilled(t *testing.T) {
	t.Parallel()
	newHostWith(t, Network, Options{})
	newHostWith(t, CPU, Options{})
	c, out := role(t, os.Args[0], "wait")
	c.Env = append(c.Env, "TMPDIR="+t.TempDir()) // it does not remove what it makes
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	words := said(t, out)
	link, group, disk := words[0], words[1], words[2]
	p, stopped := atText(t, words[3]), atText(t, words[4])
	for _, path := range []string{"/sys/class/net/" + link, group, disk} {
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	until(t, "its process is gone", func() bool { return p.check() != nil })
	New(t, Options{})
	until(t, "all is gone", func() bool {
		_, noLink := os.Stat("/sys/class/net/" + link)
		_, noGroup := os.Stat(group)
		mounts, err := os.ReadFile("/proc/self/mounts")
		return stopped.check() != nil && noLink != nil && noGroup != nil && err == nil && !strings.Contains(string(mounts), disk)
	})
}

func atText(t *testing.T, text string) Process {
	t.Helper()
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	p := At(pid)
	if p.PID == 0 {
		t.Fatalf("there is no process %s", text)
	}
	return p
}

// TestUnprivileged makes a host as an unprivileged user.
func TestUnprivileged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	syscall.ForkLock.RLock() // what is just being forked would have it open for writing
	err = os.WriteFile(program, self, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	c, out := role(t, program, "plain")
	c.Dir = "/"
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(said(t, out), " "); got != "proxied [cpu disk hidden processes limit of tasks network] works runs" {
		t.Errorf("got %q", got)
	}
	for out.Scan() { // until it ends
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

func plainRole(t *testing.T) {
	p := newPeer(t)
	h := New(t, Options{Servers: []string{p.addr}})[0]
	var lacks []string
	for _, what := range []string{CPU, Space, Hidden, Tasks, Network} {
		if h.Lacks()[what] != nil {
			lacks = append(lacks, what)
		}
	}
	works, runs := "works", "runs"
	l := newLink(t, h, p)
	say(t, l.client, "a")
	if <-p.got != "a" {
		works = "fails"
	}
	if err := h.Command("/bin/true").Run(); err != nil {
		runs = err.Error()
	}
	hidden := h.Command("/bin/true")
	hidden.Hide()
	if h.Starve(2) == nil || h.FillDisk() == nil || h.LimitTasks(1) == nil || hidden.Run() == nil {
		runs = "harmed, although it cannot be"
	}
	fmt.Println("ROLE", h.Network(), lacks, works, runs)
}
