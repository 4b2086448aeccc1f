//go:build darwin || freebsd

package file

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// fileSystemOf returns the file system of f. It is not enough that the system calls it
// local: it says so even of some that a process or a host serves.
func fileSystemOf(f *os.File) (fileSystem, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return fileSystem{}, &os.PathError{Op: "statfs", Path: f.Name(), Err: err}
	}
	fs := fileSystem{name: unix.ByteSliceToString(st.Fstypename[:])}
	known := []string{"apfs", "hfs", "ufs", "zfs", "tmpfs", "msdos", "msdosfs", "exfat", "ntfs", "udf", "ext2fs", "nullfs", "unionfs"}
	switch {
	case st.Flags&unix.MNT_LOCAL == 0 && !strings.Contains(fs.name, "fuse"):
		fs.reach = shared
	case st.Flags&unix.MNT_LOCAL != 0 && slices.Contains(known, fs.name):
		fs.reach = local
	}
	return fs, nil
}
