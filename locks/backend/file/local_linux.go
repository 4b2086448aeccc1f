package file

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// fileSystemOf returns the file system of f.
func fileSystemOf(f *os.File) (fileSystem, error) {
	var st unix.Statfs_t
	if err := statfs(f, &st); err != nil {
		return fileSystem{}, err
	}
	return byMagic(uint32(st.Type)), nil
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

// byMagic returns the type of file system with a magic number, see statfs(2).
func byMagic(magic uint32) fileSystem {
	for _, t := range types {
		if t.magic == magic {
			return t.fileSystem
		}
	}
	return fileSystem{name: fmt.Sprintf("%#x", magic)}
}

// types are the known types. The numbers, and most verdicts, are from stat.c in GNU
// coreutils and from linux/magic.h. Three verdicts differ from stat.c. There 9p is local.
// There FUSE is remote, but here it is unknown, because that depends on its server. There
// an overlay is remote, for reasons other than flock(2). But flock(2) on an overlay stays
// within it, and no other machine can use its upper layer meanwhile
// (Documentation/filesystems/overlayfs).
var types = [...]struct {
	magic uint32
	fileSystem
}{
	{unix.EXT4_SUPER_MAGIC, fileSystem{"ext4", local}}, // ext2 and ext3 have the same number
	{unix.XFS_SUPER_MAGIC, fileSystem{"xfs", local}},
	{unix.BTRFS_SUPER_MAGIC, fileSystem{"btrfs", local}},
	{unix.TMPFS_MAGIC, fileSystem{"tmpfs", local}},
	{unix.OVERLAYFS_SUPER_MAGIC, fileSystem{"overlay", local}},
	{0x2fc12fc1, fileSystem{"zfs", local}},
	{unix.F2FS_SUPER_MAGIC, fileSystem{"f2fs", local}},
	{unix.BCACHEFS_SUPER_MAGIC, fileSystem{"bcachefs", local}},
	{unix.RAMFS_MAGIC, fileSystem{"ramfs", local}},
	{unix.MSDOS_SUPER_MAGIC, fileSystem{"vfat", local}},
	{unix.EXFAT_SUPER_MAGIC, fileSystem{"exfat", local}},
	{0x7366746e, fileSystem{"ntfs3", local}},
	{0x5346544e, fileSystem{"ntfs", local}},
	{0x3153464a, fileSystem{"jfs", local}},
	{unix.REISERFS_SUPER_MAGIC, fileSystem{"reiserfs", local}},
	{unix.NILFS_SUPER_MAGIC, fileSystem{"nilfs2", local}},
	{0x24051905, fileSystem{"ubifs", local}},
	{unix.JFFS2_SUPER_MAGIC, fileSystem{"jffs2", local}},
	{unix.UDF_SUPER_MAGIC, fileSystem{"udf", local}},
	{0x4244, fileSystem{"hfs", local}},
	{0x482b, fileSystem{"hfsplus", local}},
	{0x4858, fileSystem{"hfsplus", local}}, // HFSX
	{0x00011954, fileSystem{"ufs", local}},
	{unix.AFFS_SUPER_MAGIC, fileSystem{"affs", local}},
	{unix.MINIX_SUPER_MAGIC, fileSystem{"minix", local}},
	{0x138f, fileSystem{"minix", local}},
	{unix.MINIX2_SUPER_MAGIC, fileSystem{"minix", local}},
	{0x2478, fileSystem{"minix", local}},
	{unix.MINIX3_SUPER_MAGIC, fileSystem{"minix", local}},
	{unix.SQUASHFS_MAGIC, fileSystem{"squashfs", local}}, // read-only, which is reported later
	{0xe0f5e1e2, fileSystem{"erofs", local}},
	{unix.ISOFS_SUPER_MAGIC, fileSystem{"iso9660", local}},

	{unix.FUSE_SUPER_MAGIC, fileSystem{"FUSE", unknown}}, // also virtiofs, and clients of GlusterFS
	{unix.V9FS_MAGIC, fileSystem{"9p", unknown}},
	{0xa501fcf5, fileSystem{"VxFS", unknown}}, // one machine or a cluster
	{0x53464846, fileSystem{"WSL", unknown}},  // also for a Windows network drive

	{unix.NFS_SUPER_MAGIC, fileSystem{"NFS", shared}},
	{unix.SMB_SUPER_MAGIC, fileSystem{"SMB", shared}},
	{unix.CIFS_SUPER_MAGIC, fileSystem{"SMB", shared}},
	{unix.SMB2_SUPER_MAGIC, fileSystem{"SMB", shared}},
	{unix.CEPH_SUPER_MAGIC, fileSystem{"Ceph", shared}},
	{unix.AFS_SUPER_MAGIC, fileSystem{"AFS", shared}},
	{unix.AFS_FS_MAGIC, fileSystem{"AFS", shared}},
	{unix.CODA_SUPER_MAGIC, fileSystem{"Coda", shared}},
	{unix.NCP_SUPER_MAGIC, fileSystem{"NCP", shared}},
	{unix.OCFS2_SUPER_MAGIC, fileSystem{"OCFS2", shared}},
	{0x01161970, fileSystem{"GFS2", shared}},
	{0x0bd00bd0, fileSystem{"Lustre", shared}},
	{0x47504653, fileSystem{"GPFS", shared}},
	{0x19830326, fileSystem{"BeeGFS", shared}},
	{0xaad7aaea, fileSystem{"PanFS", shared}},
	{0x20030528, fileSystem{"OrangeFS", shared}},
	{0x61636673, fileSystem{"ACFS", shared}},
	{0xbeefdead, fileSystem{"StorNext", shared}},
	{0x013111a8, fileSystem{"IBRIX", shared}},
	{0x786f4256, fileSystem{"vboxsf", shared}}, // this and the next two belong to a host, and are seen in its guests
	{0xbacbacbc, fileSystem{"vmhgfs", shared}},
	{0x7c7c6673, fileSystem{"prl_fs", shared}},
}
