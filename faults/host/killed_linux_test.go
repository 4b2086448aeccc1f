package host

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRole is what the other tests here start as a process of its own.
func TestRole(t *testing.T) {
	switch os.Getenv(roleVar) {
	case "":
		t.Skip("it is for processes that other tests start")
	case "wait":
		h := New(t, Options{})[0]
		p := start(t, h.Command("/bin/sleep", "1000"))
		fmt.Println("ROLE", h.network.link, p.PID)
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

// TestKilled kills a test process, and sees what is left of its host.
func TestKilled(t *testing.T) {
	t.Parallel()
	newHostWith(t, Network, Options{})
	c, out := role(t, os.Args[0], "wait")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	words := said(t, out)
	var pid int
	if _, err := fmt.Sscan(words[1], &pid); err != nil {
		t.Fatal(err)
	}
	p := At(pid)
	if _, err := net.InterfaceByName(words[0]); err != nil || p.check() != nil {
		t.Fatalf("%q: %v, %v", words, err, p.check())
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	until(t, "its process and its network are gone", func() bool {
		_, err := net.InterfaceByName(words[0])
		return p.check() != nil && err != nil
	})
	sweep() // its cgroup, and its disk
}

// TestUnprivileged makes a host as a user who may do nothing.
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
	if err := os.WriteFile(program, self, 0o755); err != nil {
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
	if got := strings.Join(said(t, out), " "); got != "proxied [cpu disk network] works runs" {
		t.Errorf("got %q", got)
	}
}

func plainRole(t *testing.T) {
	p := newPeer(t)
	h := New(t, Options{Servers: []string{p.addr}})[0]
	var lacks []string
	for _, what := range []string{CPU, Space, Network} {
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
	if h.Starve(2) == nil || h.FillDisk() == nil {
		runs = "harmed, although it cannot be"
	}
	fmt.Println("ROLE", h.Network(), lacks, works, runs)
}
