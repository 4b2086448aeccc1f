package host

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// A Cmd is a command that runs on a host: in its network and cgroups, with its
// TMPDIR. It dies with the test, and with the test's process.
//
// Of the methods of [exec.Cmd], all those that start it are replaced.
type Cmd struct {
	*exec.Cmd
	host   *Host
	hidden bool
}

// Command is [exec.Command] on the host.
func (h *Host) Command(path string, args ...string) *Cmd {
	return &Cmd{Cmd: exec.Command(path, args...), host: h}
}

// join enters the cgroups whose lists are in $0, and then becomes the command. The
// command's own process does so: if our thread entered the cgroup to fork, a child
// without CPU time would keep this whole process waiting.
const join = `for list in $0; do echo $$ >"$list" || exit; done; exec "$@"`

// Start is [exec.Cmd.Start].
func (c *Cmd) Start() error {
	h := c.host
	if c.Err != nil {
		return c.Err
	}
	if h.disk != nil {
		c.Env = append(c.Environ(), "TMPDIR="+h.disk.Dir())
	}
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	c.SysProcAttr.Pdeathsig = syscall.SIGKILL
	before, err := c.before()
	if err != nil {
		return err
	}
	if len(before) > 0 {
		if _, err := exec.LookPath(c.Path); err != nil {
			return err
		}
		c.Args = slices.Concat(before, []string{c.Path}, c.Args[1:])
		c.Path = "/bin/sh"
	}
	return h.thread.do(func() error {
		if err := c.Cmd.Start(); err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.started = append(h.started, At(c.Process.Pid))
		return nil
	})
}

// before is what becomes the command.
func (c *Cmd) before() (words []string, err error) {
	var lists []string
	for _, g := range c.host.groups() {
		lists = append(lists, g.file("cgroup.procs"))
	}
	if len(lists) > 0 {
		words = append(words, "sh", "-c", join, strings.Join(lists, " "))
	}
	if c.hidden {
		if err := c.host.lacks[Hidden]; err != nil {
			return nil, err
		}
		c.SysProcAttr.Unshareflags |= syscall.CLONE_NEWNS
		words = append(words, "/bin/sh", "-c", hide, "sh")
	}
	return words, nil
}

// Run is [exec.Cmd.Run].
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output is [exec.Cmd.Output].
func (c *Cmd) Output() ([]byte, error) {
	var b bytes.Buffer
	c.Stdout = &b
	err := c.Run()
	return b.Bytes(), err
}

// CombinedOutput is [exec.Cmd.CombinedOutput].
func (c *Cmd) CombinedOutput() ([]byte, error) {
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	err := c.Run()
	return b.Bytes(), err
}
