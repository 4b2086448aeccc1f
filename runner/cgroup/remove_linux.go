package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// removePatience is how long Remove tries while the kernel says that the group is in use,
// which may be so for a moment after its last process has ended.
const removePatience = 100 * time.Millisecond

// Remove removes the group and the cgroups in it, and closes the handle. If a process is
// left, it fails and changes nothing. It is not an error if the group was removed before,
// even by another process.
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

// removeTree removes a cgroup and those below it. It is not an error if the cgroup does not
// exist.
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

// children returns the cgroups directly below dir. A cgroup that was removed has none.
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

// sweep removes the empty groups that dead runs have left in a cgroup. Each owner of a group
// holds a lock on it, so it does not matter if a process id was used again, or belongs to
// another pid namespace.
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
