package file

import (
	"cmp"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// volumeOf tells of the file system of a directory.
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
		v.inodes = unlimited // as in Btrfs
	}
	v.kind, v.lost = volumeType(uint32(st.Type))
	return v, nil
}

// volumeType names a type of file system by its magic number (statfs(2)), and says
// when what is on it is lost, if it is.
func volumeType(magic uint32) (kind, lost string) {
	switch magic {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4", "" // or ext2 or ext3, which have the same
	case unix.XFS_SUPER_MAGIC:
		return "xfs", ""
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs", ""
	case unix.F2FS_SUPER_MAGIC:
		return "f2fs", ""
	case 0x2fc12fc1:
		return "zfs", ""
	case 0xca451a4e:
		return "bcachefs", ""
	case unix.TMPFS_MAGIC:
		return "tmpfs", "at a reboot"
	case unix.RAMFS_MAGIC:
		return "ramfs", "at a reboot"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay", "with the container, if this is one's own file system"
	}
	return fmt.Sprintf("%#x", magic), ""
}
