//go:build unix

package helper

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// trusted returns the program that path names, links resolved. It refuses one
// that somebody other than root and we could have put there: a helper is told
// passwords, and its word is what the core acts upon.
//
// A group may write if it is its owner's private one, with the same number as
// the user, as many systems give each user. Of the directory only the bits for
// others are looked at: Debian's /usr/local/bin belongs to a group of
// administrators.
func trusted(path string) (string, error) {
	link, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if err := trustedEntry(path, link); err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	fi, err := os.Lstat(target)
	switch {
	case err != nil:
		return "", err
	case !fi.Mode().IsRegular() || fi.Mode()&0o111 == 0:
		return "", errNoProgram
	}
	if err := trustedEntry(target, fi); err != nil {
		return "", err
	}
	return target, nil
}

// trustedEntry checks one file, or symbolic link, and the directory it is in.
func trustedEntry(path string, fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return distrust("the owner of " + path + " is not known")
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return distrust(fmt.Sprintf("%s belongs to user %d", path, st.Uid))
	}
	if fi.Mode()&fs.ModeSymlink == 0 {
		if fi.Mode()&0o002 != 0 {
			return distrust(fmt.Sprintf("%s can be written by anyone", path))
		}
		if fi.Mode()&0o020 != 0 && st.Gid != st.Uid {
			return distrust(fmt.Sprintf("%s can be written by group %d", path, st.Gid))
		}
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if dir.Mode()&0o002 != 0 && dir.Mode()&fs.ModeSticky == 0 {
		return distrust(fmt.Sprintf("the directory of %s can be written by anyone", path))
	}
	return nil
}
