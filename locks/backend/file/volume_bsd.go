//go:build darwin || freebsd

package file

import (
	"os"

	"golang.org/x/sys/unix"
)

// volumeOf returns the space left on the file system of a directory.
func volumeOf(dir *os.File) (volume, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return volume{}, &os.PathError{Op: "statfs", Path: dir.Name(), Err: err}
	}
	return volume{
		counted: true,
		bytes:   uint64(max(int64(st.Bavail), 0)) * uint64(st.Bsize), // below 0 if only root has space
		inodes:  uint64(max(int64(st.Ffree), 0)),
	}, nil
}
