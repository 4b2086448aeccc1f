package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// removePatience is how long Remove tries while the kernel says that the group
// is in use: one whose last process has just ended may be so for a moment.
const removePatience = 100 * time.Millisecond

// Remove removes the group, with what cgroups the job has made in it, and frees
// the handle. If a process is left it fails and changes nothing. That the group
// is removed already, also by another process, is no error.
func (g *Group) Remove() error {
	for end := time.Now().Add(removePatience); ; time.Sleep(time.Millisecond) {
		err := g.remove()
		if err == nil {
			g.Close()
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return err
		}
	}
}

func (g *Group) remove() error {
	switch left, err := g.Populated(); {
	case err != nil:
		return err
	case left:
		return &os.PathError{Op: "remove", Path: g.path, Err: unix.EBUSY}
	}
	return removeTree(g.path)
}

// removeTree removes a cgroup and those below it. It is no error if there is
// none.
func removeTree(dir string) error {
	err := unix.Rmdir(dir)
	if errors.Is(err, unix.EBUSY) { // processes or cgroups are in it
		var below []string
		if below, err = children(dir); err != nil {
			return err
		}
		for _, child := range below {
			if err := removeTree(child); err != nil {
				return err
			}
		}
		err = unix.Rmdir(dir)
	}
	if err == nil || removed(err) {
		return nil
	}
	return &os.PathError{Op: "remove", Path: dir, Err: err}
}

// children returns the cgroups right below one. One that is gone has none.
func children(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !removed(err) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// sweep removes the groups that dead runs have left in a cgroup, if they are
// empty. Each owner of a group holds a lock on it, so that it does not matter
// whether a process id was used again, or is of another pid namespace.
func sweep(home string) {
	dirs, _ := children(home)
	for _, dir := range dirs {
		if ours(dir) {
			sweepOne(dir)
		}
	}
}

func sweepOne(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = removeTree(dir) // it fails if a process is left
	}
}
