package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// remote names the type of the file system of dir if that is not local.
func remote(dir *os.File) (string, error) {
	magic, err := magicOf(dir)
	return remoteType(magic), err
}

func magicOf(f *os.File) (uint32, error) {
	var st unix.Statfs_t
	err := statfs(f, &st)
	return uint32(st.Type), err
}

func statfs(f *os.File, st *unix.Statfs_t) error {
	for {
		err := unix.Fstatfs(int(f.Fd()), st)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR):
			return &os.PathError{Op: "statfs", Path: f.Name(), Err: err}
		}
	}
}

// remoteType names a type of file system by its magic number (statfs(2)), if it
// is one that several machines may share, or that is served by a process.
func remoteType(magic uint32) string {
	switch magic {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "SMB"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.FUSE_SUPER_MAGIC: // also virtiofs, and clients of GlusterFS
		return "FUSE"
	case unix.CEPH_SUPER_MAGIC:
		return "Ceph"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "AFS"
	case unix.CODA_SUPER_MAGIC:
		return "Coda"
	case unix.NCP_SUPER_MAGIC:
		return "NCP"
	case unix.OCFS2_SUPER_MAGIC:
		return "OCFS2"
	case 0x01161970:
		return "GFS2"
	case 0x0bd00bd0:
		return "Lustre"
	case 0x47504653:
		return "GPFS"
	case 0x786f4256:
		return "vboxsf"
	case 0xbacbacbc:
		return "vmhgfs"
	}
	return ""
}
