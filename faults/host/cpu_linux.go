package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A cpu is a cgroup that has a quota of CPU time. With version 1 it is in the
// hierarchy of the cpu controller, apart from that of version 2 in which leaderrun
// makes a cgroup for its job; with version 2, that one is below this one. Either way
// all that descends from a process of the host is in it.
type cpu struct {
	dir string
	v2  bool
}

// period is that of the quota: the host runs for its share of each, and then for the
// rest of it not at all. It is the kernel's own default.
const period = 100 * time.Millisecond

// Starve leaves all processes of the host together percent of one CPU, from 1 on,
// until Feed.
func (h *Host) Starve(percent int) error {
	if h.cpu == nil {
		return h.lacks[CPU]
	}
	return h.cpu.quota(strconv.FormatInt(period.Microseconds()*int64(percent)/100, 10))
}

// Feed ends Starve.
func (h *Host) Feed() error {
	if h.cpu == nil {
		return nil
	}
	return h.cpu.feed()
}

func (c *cpu) feed() error {
	if c.v2 {
		return c.quota("max")
	}
	return c.quota("-1")
}

func (c *cpu) quota(micros string) error {
	if c.v2 {
		return os.WriteFile(c.file("cpu.max"), []byte(fmt.Sprint(micros, " ", period.Microseconds())), 0)
	}
	return os.WriteFile(c.file("cpu.cfs_quota_us"), []byte(micros), 0)
}

func (c *cpu) file(name string) string { return filepath.Join(c.dir, name) }

// processes are those of the host, however they came to be.
func (c *cpu) processes() []Process { return members(c.dir) }

// members are the processes in a cgroup and in those below it.
func members(dir string) (all []Process) {
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // one that is gone has none
	for _, id := range strings.Fields(string(text)) {
		pid, _ := strconv.Atoi(id)
		if p := At(pid); p.PID != 0 {
			all = append(all, p)
		}
	}
	for _, child := range below(dir) {
		all = append(all, members(child)...)
	}
	return all
}

// below are the cgroups right below one.
func below(dir string) (dirs []string) {
	procs, _ := filepath.Glob(filepath.Join(dir, "*/cgroup.procs")) // the pattern is sound
	for _, p := range procs {
		dirs = append(dirs, filepath.Dir(p))
	}
	return dirs
}

func (h *Host) addCPU() {
	h.tb.Helper()
	home, v2, err := cpuHome()
	if err == nil {
		c := &cpu{dir: filepath.Join(home, h.name), v2: v2}
		if err = c.create(home); err == nil {
			h.cpu = c
			h.tb.Cleanup(func() { h.check(removeGroup(c.dir)) })
		}
	}
	h.lack(CPU, err)
}

func (c *cpu) create(home string) error {
	if c.v2 {
		if err := os.WriteFile(filepath.Join(home, "cgroup.subtree_control"), []byte("+cpu"), 0); err != nil {
			return err
		}
	}
	return os.Mkdir(c.dir, 0o755) //nolint:gosec // G301: as all of them are
}

// cpuHome is our own cgroup of the cpu controller.
func cpuHome() (dir string, v2 bool, err error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", false, err
	}
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && slices.Contains(strings.Split(f[1], ","), "cpu") {
			dir, err := mounted(string(mounts), "cgroup", "cpu", f[2])
			return dir, false, err
		}
	}
	for line := range strings.Lines(string(own)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			dir, err := mounted(string(mounts), "cgroup2", "", path)
			return dir, true, err
		}
	}
	return "", false, errors.New("no cgroup of the cpu controller")
}

// mounted is the directory of a cgroup, by the mounts (proc_pid_mountinfo(5)) of
// file systems of a kind, with an option if it is not "".
func mounted(mounts, kind, option, path string) (string, error) {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(g) < 3 || g[0] != kind || option != "" && !slices.Contains(strings.Split(g[2], ","), option) {
			continue
		}
		if rel, ok := strings.CutPrefix(path, strings.TrimSuffix(f[3], "/")); ok {
			return filepath.Join(f[4], rel), nil
		}
	}
	return "", fmt.Errorf("the cgroup %s is not mounted", path)
}

// removeGroup removes a cgroup and those below it, when its last process has ended:
// one that has just done so is counted for a moment more.
func removeGroup(dir string) error {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		for _, child := range below(dir) {
			_ = removeGroup(child)
		}
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return &os.PathError{Op: "remove", Path: dir, Err: err}
		}
	}
}

// sweepCPU removes the cgroups that dead processes have left, and kills what is left
// in them: a guard, say, that was stopped when the test process was killed.
func sweepCPU() {
	home, v2, err := cpuHome()
	if err != nil {
		return
	}
	left, _ := filepath.Glob(filepath.Join(home, prefix+"*"))
	for _, dir := range left {
		if !dead(filepath.Base(dir)) {
			continue
		}
		c := &cpu{dir: dir, v2: v2}
		_ = c.feed() // they need some to end
		for _, p := range c.processes() {
			_ = p.signal(unix.SIGKILL)
		}
		_ = removeGroup(dir)
	}
}
