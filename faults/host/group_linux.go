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

// A group is a cgroup of one host, for a quota of CPU time, a limit of tasks or memory, or to be frozen. With
// version 1 it is in the hierarchy of its controller, apart from the version 2 hierarchy
// in which leaderrun makes a cgroup for its job. With version 2 one group serves all
// controllers, and leaderrun's cgroup is below it. Either way all descendants of the
// host's processes are in the group.
type group struct {
	dir string
	v2  bool
}

// controllers are those of the cgroups that a host has.
var controllers = []string{cpuController, pidsController, memoryController, freezerController}

const (
	cpuController     = "cpu"
	pidsController    = "pids"
	memoryController  = "memory"
	freezerController = "freezer" // of version 1 only
)

func (g *group) file(name string) string { return filepath.Join(g.dir, name) }

func (g *group) write(name, text string) error {
	return os.WriteFile(g.file(name), []byte(text), 0)
}

// processes are those of the host, however they came to be.
func (g *group) processes() []Process { return members(g.dir) }

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

// addGroup makes the host's cgroup of a controller.
func (h *Host) addGroup(what, controller string) (g *group) {
	h.tb.Helper()
	home, v2, err := homeOf(controller)
	if err == nil {
		g = &group{dir: filepath.Join(home, h.name), v2: v2}
		if err = g.create(home, controller); err == nil {
			h.tb.Cleanup(func() { h.check(removeGroup(g.dir)) })
		} else {
			g = nil
		}
	}
	h.lack(what, err)
	return g
}

func (g *group) create(home, controller string) error {
	if g.v2 {
		if err := os.WriteFile(filepath.Join(home, "cgroup.subtree_control"), []byte("+"+controller), 0); err != nil {
			return err
		}
	}
	err := os.Mkdir(g.dir, 0o755) //nolint:gosec // G301: as all of them are
	if g.v2 && errors.Is(err, os.ErrExist) {
		return nil // by another controller
	}
	return err
}

// homeOf is our own cgroup of a controller.
func homeOf(controller string) (dir string, v2 bool, err error) {
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
		if len(f) == 3 && slices.Contains(strings.Split(f[1], ","), controller) {
			dir, err := mounted(string(mounts), "cgroup", controller, f[2])
			return dir, false, err
		}
	}
	for line := range strings.Lines(string(own)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			dir, err := mounted(string(mounts), "cgroup2", "", path)
			return dir, true, err
		}
	}
	return "", false, fmt.Errorf("no cgroup of the controller %s", controller)
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

// removeGroup removes a cgroup and those below it when its last process has ended. The
// kernel counts a process for a moment after its end.
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

// sweepGroups removes the cgroups that dead test processes have left, and kills the
// processes in them, such as a guard that was stopped when the test process was killed.
func sweepGroups() {
	for _, controller := range controllers {
		home, v2, err := homeOf(controller)
		if err != nil {
			continue
		}
		left, _ := filepath.Glob(filepath.Join(home, prefix+"*"))
		for _, dir := range left {
			if dead(filepath.Base(dir)) {
				(&group{dir, v2}).sweep()
			}
		}
	}
}

func (g *group) sweep() {
	_ = g.freeze(false)
	_ = g.feed() // they need some to end
	for _, p := range g.processes() {
		_ = p.signal(unix.SIGKILL)
	}
	_ = removeGroup(g.dir)
}
