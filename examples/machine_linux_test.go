package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// A machine is systemd, booted in its own namespaces.
type machine struct {
	t      *testing.T
	init   *process
	pid    string // process id of systemd
	cgroup string
}

// stubs are units that those of the examples name, and that do nothing here.
var stubs = []string{"sysinit", "basic", "network-online", "timers", "time-set", "time-sync", "shutdown", "umount"}

// boot boots a machine with the units in a directory, to which it adds what they need.
// The directory etc becomes /etc/leaderrun, and local /usr/local/bin.
func boot(t *testing.T, units, etc, local string) *machine {
	t.Helper()
	need(t, "nsenter", "util-linux")
	dir := public(t)
	start(t, exec.Command("cp", "-a", units, filepath.Join(dir, "units"))).exits(0)
	start(t, exec.Command("cp", "-a", etc, filepath.Join(dir, "etc"))).exits(0)
	for _, name := range stubs {
		write(t, filepath.Join(dir, "units", name+".target"), "[Unit]\nDefaultDependencies=no\n", 0o644)
	}
	// It waits for what it wants, like the real one.
	write(t, filepath.Join(dir, "units/multi-user.target"), "[Unit]\nDescription=Boot\n", 0o644)
	m := &machine{t: t, cgroup: "leaderrun-" + filepath.Base(dir)}
	c := exec.Command("unshare", "--mount", "--fork", "--kill-child", absolute(t, "testdata/boot"), dir, local)
	c.Env = append(os.Environ(), "BOOT_CGROUP="+m.cgroup)
	m.init = start(t, c)
	t.Cleanup(m.off)
	eventually(t, "systemd runs", m.booted)
	return m
}

// booted reports whether systemd answers.
func (m *machine) booted() bool {
	select {
	case <-m.init.ended:
		m.t.Fatalf("systemd has ended:\n%s", &m.init.stderr)
	default:
	}
	for _, pid := range tree(m.t, m.init.cmd.Process.Pid) {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err == nil && strings.HasSuffix(exe, "/systemd/systemd") {
			m.pid = fmt.Sprint(pid)
			return m.command("systemctl", "show", "--property", "Version").Run() == nil
		}
	}
	return false
}

// off ends the whole machine, and removes its cgroup.
func (m *machine) off() {
	if m.t.Failed() {
		out, err := m.command("sh", "-c", "systemctl status '*.service'; tail /run/*.err").CombinedOutput()
		m.t.Logf("at the end, on one of the machines: %s(%v)", out, err)
	}
	_ = m.init.cmd.Process.Kill()
	m.init.status()
	remove := exec.Command("unshare", "--mount", "sh", "-c",
		`mount -t cgroup2 none /mnt && find "/mnt/$1" -depth -type d -exec rmdir {} \;`, "sh", m.cgroup)
	eventually(m.t, "the cgroup is removed", func() bool {
		out, err := remove.CombinedOutput()
		remove = exec.Command(remove.Path, remove.Args[1:]...)
		return err == nil && len(out) == 0
	})
}

// public returns a directory that anybody may read.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "example-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// command returns a command to run on the machine.
func (m *machine) command(args ...string) *exec.Cmd {
	c := exec.Command("nsenter", append([]string{"--target", m.pid, "--mount", "--pid", "--"}, args...)...)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	return c
}

// systemctl runs "systemctl ARG...", and checks its exit status.
func (m *machine) systemctl(want int, args ...string) {
	m.t.Helper()
	start(m.t, m.command(append([]string{"systemctl"}, args...)...)).exits(want)
}

// property returns a property of a unit, or of the manager if the unit is "".
func (m *machine) property(unit, name string) string {
	m.t.Helper()
	args := []string{"systemctl", "show", "--property", name, "--value"}
	if unit != "" {
		args = append(args, unit)
	}
	out, err := m.command(args...).Output()
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// becomes waits until a unit's property has a value.
func (m *machine) becomes(unit, property string, want ...string) {
	m.t.Helper()
	eventually(m.t, fmt.Sprintf("%s of %s is one of %q", property, unit, want), func() bool {
		return slices.Contains(want, m.property(unit, property))
	})
}

// file returns the text of a file on the machine, or "" if it does not exist.
func (m *machine) file(name string) string {
	m.t.Helper()
	out, err := m.command("cat", name).Output()
	if err != nil && programs.Status(err.(*exec.ExitError).ProcessState) != 1 {
		m.t.Fatal(err)
	}
	return string(out)
}

// kill kills a process by its id on the machine.
func (m *machine) kill(pid string) {
	m.t.Helper()
	if err := m.command("kill", "-KILL", pid).Run(); err != nil {
		m.t.Fatal(err)
	}
}

// namespaces reports whether this user may make what a machine needs.
func namespaces() bool {
	c := exec.Command("unshare", "--mount", "--cgroup", "--pid", "--fork", "mount", "-t", "cgroup2", "none", "/mnt")
	return os.Geteuid() == 0 && c.Run() == nil
}
