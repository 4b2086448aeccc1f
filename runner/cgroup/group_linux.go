package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Group is a handle on the cgroup of one job. Its methods may be called concurrently, and
// several processes may each have a handle. A handle has all its descriptors from the
// start, so a process that has run out of descriptors can still kill.
type Group struct {
	path   string
	dir    *os.File // with a shared lock, which says that the group has an owner
	kill   *os.File // cgroup.kill
	events *os.File // cgroup.events
}

// nameFormat is the format of the names of groups: the process that made it, and a random
// number.
const nameFormat = "leaderrun-%d-%016x"

// errSwept says that another process removed a group as a leftover, before the group was
// locked.
var errSwept = fmt.Errorf("swept away: %w", os.ErrNotExist)

// A Home is where groups can be made: our own cgroup, as it was when the Home was found.
type Home struct {
	own string // as in /proc/self/cgroup
	dir string
	err error // why there can be no group
}

// Find finds our Home, so that New takes less time. It also removes groups of dead runs
// there, if no process is left in them.
func Find() Home {
	own, err := ownPath()
	if err != nil {
		return Home{err: err}
	}
	if err := startsInside(); err != nil {
		return Home{own: own, err: err}
	}
	dir, err := ownDir(own)
	if err == nil {
		sweep(dir)
	}
	return Home{own, dir, err}
}

// New is New of our Home.
func New() (*Group, error) { return Find().New() }

// New makes a group. If it fails, it leaves nothing behind, and the error says in one line
// why there can be no group here: there is no cgroup version 2, or it is not visible; we may
// not make a group or put a process into it; the kernel is older than 5.14 and lacks
// cgroup.kill. If we were moved to another cgroup since h was found, New finds it again.
func (h Home) New() (*Group, error) {
	if own, err := ownPath(); err != nil || own != h.own {
		h = Find()
	}
	if h.err != nil {
		return nil, h.err
	}
	var err error
	for range 100 { // once is enough, unless others sweep just then
		path := filepath.Join(h.dir, fmt.Sprintf(nameFormat, os.Getpid(), rand.Uint64()))
		var g *Group
		if g, err = create(path); err == nil {
			return g, nil
		}
		_ = removeTree(path)
		if !errors.Is(err, errSwept) {
			break
		}
	}
	return nil, fmt.Errorf("make a cgroup: %w", err)
}

// startsInside returns an error if no process can be started in another cgroup than its
// parent's. That takes clone3(2), which some sandboxes forbid. The call here has arguments
// of size 0, so it starts nothing.
func startsInside() error {
	if _, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0); errno != unix.EINVAL {
		return fmt.Errorf("start a process in a cgroup: %w", os.NewSyscallError("clone3", errno))
	}
	return nil
}

func create(path string) (*Group, error) {
	// Programs look for limits in their own cgroup, even as other users.
	if err := os.Mkdir(path, 0o755); err != nil { //nolint:gosec // G301: so others may read it
		return nil, err
	}
	g, err := Open(path)
	if err != nil {
		return nil, explain(path, err)
	}
	if err := g.takesProcesses(); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// explain returns why a file is missing in a group that was just made.
func explain(path string, err error) error {
	if !errors.Is(err, os.ErrNotExist) || errors.Is(err, errSwept) {
		return err
	}
	if _, missing := os.Stat(path); missing != nil {
		return errSwept
	}
	return fmt.Errorf("the kernel is older than 5.14: %w", err)
}

// takesProcesses returns an error if a cgroup is not a domain, because then no process can
// be started in it. It is not a domain if one above it is threaded, or has both processes
// and controllers for those below.
func (g *Group) takesProcesses() error {
	text, err := os.ReadFile(filepath.Join(g.path, "cgroup.type"))
	if kind := string(bytes.TrimSpace(text)); err == nil && kind != "domain" {
		err = fmt.Errorf("it is of type %q, and takes no processes", kind)
	}
	return err
}

// Open returns another handle on the group with a path. If the group was removed, the error
// is an [os.ErrNotExist].
func Open(path string) (*Group, error) {
	if !ours(path) {
		return nil, &os.PathError{Op: "open", Path: path, Err: errors.New("not a group of ours")}
	}
	g := &Group{path: path}
	if err := g.open(); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// ours reports whether a path has the name of a group.
func ours(path string) bool {
	var pid int
	var id uint64
	name := filepath.Base(path)
	_, err := fmt.Sscanf(name, nameFormat, &pid, &id)
	return err == nil && name == fmt.Sprintf(nameFormat, pid, id)
}

func (g *Group) open() (err error) {
	if g.dir, err = os.Open(g.path); err != nil {
		return err
	}
	// The lock tells a sweep that the group has an owner. It ends with the process.
	err = unix.Flock(int(g.dir.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errSwept
	} else if err != nil {
		return &os.PathError{Op: "lock", Path: g.path, Err: err}
	}
	if g.kill, err = os.OpenFile(filepath.Join(g.path, "cgroup.kill"), os.O_WRONLY, 0); err != nil {
		return err
	}
	g.events, err = os.Open(filepath.Join(g.path, "cgroup.events"))
	return err
}

// Close closes a handle, and leaves the group as it is.
func (g *Group) Close() {
	for _, f := range []*os.File{g.dir, g.kill, g.events} {
		f.Close()
	}
}

// FD returns a descriptor for the CgroupFD of [syscall.SysProcAttr], which is valid until
// Remove. No process may be started with it after Kill was called.
func (g *Group) FD() int { return int(g.dir.Fd()) }

// Path returns the directory of the group.
func (g *Group) Path() string { return g.path }

// Populated reports whether a process is left in the group, or in a cgroup below it. Zombies
// do not count, because they run nothing and hold nothing. Populated returns false if the
// group was removed, and true with an error.
func (g *Group) Populated() (bool, error) {
	var b [256]byte
	n, err := g.events.ReadAt(b[:], 0)
	text := string(b[:n])
	switch {
	case removed(err) || strings.Contains(text, "populated 0\n"):
		return false, nil
	case strings.Contains(text, "populated 1\n"):
		return true, nil
	case err == nil || errors.Is(err, io.EOF):
		err = &os.PathError{Op: "read", Path: g.events.Name(), Err: fmt.Errorf("unexpected: %q", text)}
	}
	return true, err
}

// removed reports whether an error means that the cgroup was removed, by us or by others.
// Only a cgroup without processes can be removed.
func removed(err error) bool {
	return errors.Is(err, syscall.ENODEV) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrClosed)
}
