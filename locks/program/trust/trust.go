// Package trust checks that only we and root can have written a file: a program that we start,
// settings that we act on, or a link to a directory. This is a package of its own because the
// config file, helpers and secrets must agree on whom to trust.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A Distrust says why an existing file is not trusted.
type Distrust string

func (d Distrust) Error() string { return string(d) }

// errNoFile is the error for a directory, a pipe or a device.
var errNoFile = errors.New("not a regular file")

// maxLinks is how many symbolic links a path may lead through, as in the kernel.
const maxLinks = 40

// File returns the regular file that path names, with links resolved. It returns a
// Distrust if anybody except root and us could have put the file there, or could replace
// it before it is used. So all directories and links on the way must belong to root or
// us.
//
// A group may write if it is its owner's private one, with the same number as the user,
// as on many systems. Of directories only the bits for others count: Debian's
// /usr/local/bin belongs to a group of administrators. In a directory with the sticky
// bit, others cannot change what is ours.
func File(path string) (string, fs.FileInfo, error) {
	at, fi, err := walk(path, false)
	switch {
	case err != nil:
		return "", nil, err
	case !fi.Mode().IsRegular():
		return "", nil, errNoFile
	}
	return at, fi, nil
}

// Dir returns the directory that path names, with links resolved. It is as strict as File
// and more: no group may write any directory on the way, and nobody else may make
// anything in a directory that contains a link on the way, sticky bit or not.
func Dir(path string) (string, error) {
	at, fi, err := walk(path, true)
	switch {
	case err != nil:
		return "", err
	case !fi.IsDir():
		return "", &os.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	return at, nil
}

// walk follows a path step by step, and checks each step.
func walk(path string, strict bool) (string, fs.FileInfo, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", nil, err
	}
	at, rest, links := "/", strings.Split(path, "/"), 0
	fi, err := check(at)
	for ; err == nil && len(rest) > 0; rest = rest[1:] {
		switch rest[0] {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, rest[0])
		if fi, err = check(next); err != nil {
			break
		}
		if strict {
			if err = alone(at, fi); err != nil {
				break
			}
		}
		if fi.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", nil, &os.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
		}
		var to string
		if to, err = os.Readlink(next); err != nil {
			break
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(append(rest[:1:1], strings.Split(to, "/")...), rest[1:]...)
	}
	return at, fi, err
}

// alone returns a Distrust if anybody else can replace a child of a directory.
func alone(dir string, child fs.FileInfo) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sticky := fi.Mode()&fs.ModeSticky != 0 && child.Mode()&fs.ModeSymlink == 0
	if fi.Mode().Perm()&0o022 != 0 && !sticky {
		return Distrust(fmt.Sprintf("the directory %s can be written by other users", dir))
	}
	return nil
}

// check checks one step of a path.
func check(path string) (fs.FileInfo, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, Distrust("unknown owner of " + path)
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return nil, Distrust(fmt.Sprintf("%s belongs to user %d", path, st.Uid))
	}
	open, group := fi.Mode()&0o002 != 0, fi.Mode()&0o020 != 0 && st.Gid != st.Uid
	switch {
	case fi.Mode()&fs.ModeSymlink != 0: // its bits have no meaning
	case fi.IsDir() && open && fi.Mode()&fs.ModeSticky == 0:
		return nil, Distrust(fmt.Sprintf("the directory %s can be written by anyone", path))
	case fi.IsDir():
	case open:
		return nil, Distrust(fmt.Sprintf("%s can be written by anyone", path))
	case group:
		return nil, Distrust(fmt.Sprintf("%s can be written by group %d", path, st.Gid))
	}
	return fi, nil
}
