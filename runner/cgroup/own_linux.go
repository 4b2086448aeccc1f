package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Two files say where our own cgroup is. /proc/self/cgroup has its path within the hierarchy,
// relative to the root of our cgroup namespace. /proc/self/mountinfo has the points at which
// the hierarchy is mounted, and the cgroup at the top of each mount, relative to the same
// root: a container's mount may begin at its own cgroup.

// ownPath returns the path of our own cgroup.
func ownPath() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	own, ok := pathIn(string(text))
	if !ok {
		return "", errors.New("this system has no cgroup version 2")
	}
	return own, nil
}

// ownDir returns the directory of our own cgroup, in which we may make others and start
// processes. If the hierarchy is mounted more than once, ownDir returns the first directory
// that is usable, or the error of the first one.
func ownDir(own string) (string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	var first error
	for line := range strings.Lines(string(text)) {
		m, ok := parseMount(line)
		if !ok {
			continue
		}
		dir, ok := m.dir(own)
		if !ok {
			continue
		}
		err := usable(dir, m.id)
		if err == nil {
			return dir, nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fmt.Errorf("our cgroup %s is not in any mounted cgroup2 file system", own)
	}
	return "", first
}

// pathIn returns the path in the text of /proc/PID/cgroup. The path is not escaped, because it
// cannot contain a newline.
func pathIn(text string) (string, bool) {
	for line := range strings.Lines(text) {
		if p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::/"); ok {
			return "/" + p, true
		}
	}
	return "", false
}

// A mount is a cgroup2 file system at a point in the file system.
type mount struct {
	id    uint64
	root  string // the cgroup at its top
	point string
}

// parseMount parses a line of mountinfo (proc_pid_mountinfo(5)). It returns false for other
// file systems.
func parseMount(line string) (mount, bool) {
	before, after, _ := strings.Cut(line, " - ")
	if !strings.HasPrefix(after, "cgroup2 ") {
		return mount{}, false
	}
	fields := strings.Fields(before)
	if len(fields) < 5 {
		return mount{}, false
	}
	id, err := strconv.ParseUint(fields[0], 10, 64)
	return mount{id: id, root: unescape(fields[3]), point: unescape(fields[4])}, err == nil
}

// unescape decodes the octal escapes of spaces, tabs, newlines and backslashes.
func unescape(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if c, err := strconv.ParseUint(after[:min(3, len(after))], 8, 8); err == nil && len(after) >= 3 {
			b.WriteByte(byte(c))
			s = after[3:]
			continue
		}
		b.WriteByte('\\')
		s = after
	}
}

// dir returns the directory of a cgroup in the mount, if the cgroup is there. Paths may begin
// with "/..", once for each level above the root of our namespace. A cgroup below such a
// level has a directory only if the mount begins there.
func (m mount) dir(cgroup string) (string, bool) {
	rel := cgroup
	if m.root != "/" {
		var below bool
		rel, below = strings.CutPrefix(cgroup, m.root)
		if !below || rel != "" && rel[0] != '/' {
			return "", false
		}
	}
	if rel == "/.." || strings.HasPrefix(rel, "/../") {
		return "", false
	}
	return path.Join(m.point, rel), true
}

// usable returns why we cannot make groups in a directory, or nil. If the directory belongs
// to another mount, something is mounted over it. Starting a process below the directory
// takes permission to write to its cgroup.procs, not only to make a directory (cgroups(7),
// "delegation containment").
func usable(dir string, mountID uint64) error {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_MNT_ID, &s); err != nil {
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	if s.Mask&unix.STATX_MNT_ID == 0 || s.Mnt_id != mountID {
		return fmt.Errorf("another file system is mounted over our cgroup %s", dir)
	}
	procs := filepath.Join(dir, "cgroup.procs")
	if err := unix.Faccessat(unix.AT_FDCWD, procs, unix.W_OK, unix.AT_EACCESS); err != nil {
		return &os.PathError{Op: "write to", Path: procs, Err: err}
	}
	return nil
}
