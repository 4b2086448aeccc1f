//go:build darwin || freebsd

package file

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// remote names the type of the file system of dir if that is not local.
func remote(dir *os.File) (string, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return "", &os.PathError{Op: "statfs", Path: dir.Name(), Err: err}
	}
	kind := unix.ByteSliceToString(st.Fstypename[:])
	if st.Flags&unix.MNT_LOCAL == 0 || strings.Contains(kind, "fuse") {
		return kind, nil
	}
	return "", nil
}
