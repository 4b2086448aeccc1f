package file

import (
	"cmp"
	"os"

	"golang.org/x/sys/unix"
)

// volumeOf returns the space left on the file system of a directory.
func volumeOf(dir *os.File) (volume, error) {
	var st unix.Statfs_t
	if err := statfs(dir, &st); err != nil {
		return volume{}, err
	}
	v := volume{
		counted: true,
		bytes:   st.Bavail * uint64(cmp.Or(st.Frsize, st.Bsize)),
		inodes:  st.Ffree,
	}
	if st.Files == 0 {
		v.inodes = unlimited // Btrfs, say
	}
	return v, nil
}
