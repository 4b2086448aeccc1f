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

// Where our own cgroup is, the kernel tells in two halves. /proc/self/cgroup
// has its path within the hierarchy, as seen from the root of our cgroup
// namespace. /proc/self/mountinfo has where that hierarchy is mounted, and from
// which cgroup downwards, as seen from the same root: a container's mount may
// begin at its own cgroup, and there may be more than one.

// ownDir returns the directory of our own cgroup, in which we may make others
// and start processes. There are several if it is mounted more than once; the
// first that serves is taken, and if none does the error is that of the first.
func ownDir() (string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	own, ok := ownPath(string(text))
	if !ok {
		return "", errors.New("this system has no cgroup version 2")
	}
	text, err = os.ReadFile("/proc/self/mountinfo")
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

// ownPath finds the path in the text of /proc/self/cgroup. It is not escaped, as
// it cannot contain a newline.
func ownPath(text string) (string, bool) {
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

// parseMount reads a line of mountinfo (proc_pid_mountinfo(5)). It is false for
// other file systems.
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

// unescape undoes the octal escapes of spaces, tabs, newlines and backslashes.
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

// dir is where a cgroup is below the mount point, if it is. Paths may begin with
// "/..", once for each level above the root of our namespace; what is below one
// of those can be named only if the mount says how.
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

// usable says why a directory does not serve, if so. That it is of the mount it
// is thought to be tells that no other is mounted over that. To start a process
// below it takes the permission to write to its cgroup.procs, apart from that to
// make a directory (cgroups(7), "delegation containment").
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
