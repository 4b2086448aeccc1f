//go:build unix

package trust

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// File returns the regular file that path names, links resolved. It refuses, with
// a Distrust, one that somebody other than root and we could have put there.
//
// A group may write if it is its owner's private one, with the same number as
// the user, as many systems give each user. Of the directory only the bits for
// others are looked at: Debian's /usr/local/bin belongs to a group of
// administrators.
func File(path string) (string, fs.FileInfo, error) {
	link, err := os.Lstat(path)
	if err != nil {
		return "", nil, err
	}
	if err := checkEntry(path, link); err != nil {
		return "", nil, err
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, err
	}
	fi, err := os.Lstat(target)
	switch {
	case err != nil:
		return "", nil, err
	case !fi.Mode().IsRegular():
		return "", nil, ErrNoFile
	}
	if err := checkEntry(target, fi); err != nil {
		return "", nil, err
	}
	return target, fi, nil
}

// checkEntry checks one file, or symbolic link, and the directory it is in.
func checkEntry(path string, fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return Distrust("the owner of " + path + " is not known")
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return Distrust(fmt.Sprintf("%s belongs to user %d", path, st.Uid))
	}
	if fi.Mode()&fs.ModeSymlink == 0 {
		if fi.Mode()&0o002 != 0 {
			return Distrust(fmt.Sprintf("%s can be written by anyone", path))
		}
		if fi.Mode()&0o020 != 0 && st.Gid != st.Uid {
			return Distrust(fmt.Sprintf("%s can be written by group %d", path, st.Gid))
		}
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if dir.Mode()&0o002 != 0 && dir.Mode()&fs.ModeSticky == 0 {
		return Distrust(fmt.Sprintf("the directory of %s can be written by anyone", path))
	}
	return nil
}
