package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
)

func TestRemoteFileSystem(t *testing.T) {
	t.Parallel()
	for magic, name := range map[uint32]string{
		0x6969: "NFS", 0xff534d42: "SMB", 0xfe534d42: "SMB", 0x517b: "SMB",
		0x01021997: "9p", 0x65735546: "FUSE", 0x00c36400: "Ceph", 0x5346414f: "AFS",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testDir(t)
			l := open(t, dir)
			l.remote = func(*os.File) (string, error) { return remoteType(magic), nil }
			_, err := l.Acquire(t.Context(), true)
			refusal(t, err, locks.ErrUsage, dir, name)
			if _, err := os.Stat(l.path); err == nil {
				t.Error("a lock file was made")
			}
		})
	}
	for _, magic := range []uint32{unix.EXT4_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, 0x2fc12fc1 /* ZFS */} {
		if got := remoteType(magic); got != "" {
			t.Errorf("%#x is called %s", magic, got)
		}
	}
}

// TestMagic: the number is that of the directory's own file system.
func TestMagic(t *testing.T) {
	t.Parallel()
	f, err := os.Open("/proc")
	needs(t, err == nil, "/proc")
	defer f.Close()
	if got, err := magicOf(f); got != unix.PROC_SUPER_MAGIC || err != nil {
		t.Errorf("/proc: got %#x, %v; want %#x", got, err, unix.PROC_SUPER_MAGIC)
	}
}

// mount mounts a tmpfs of the given size and returns where.
func mount(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, options)
	needs(t, err == nil, "the right to mount a tmpfs")
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// fill leaves no room in the file system of dir.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, blockSize))
	}
	return func() { _ = os.Remove(path) }
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	top := mount(t, "size=64k,mode=0755")
	dir := filepath.Join(top, "locks")
	old := openWith(t, dir, locks.Options{Name: "old"})
	hold(t, old)
	free := fill(t, top)
	release(t, old)

	_, err := open(t, dir).Acquire(t.Context(), true)
	refusal(t, err, locks.ErrUnavailable, dir, "no space left on device")
	again := openWith(t, dir, locks.Options{Name: "old"})
	hold(t, again) // its room is there
	release(t, again)
	free()
	pass(t, dir)
}

// TestFullDirectory has no inode left.
func TestFullDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(mount(t, "nr_inodes=2,mode=0755"), "locks")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, dir).Acquire(t.Context(), true)
	refusal(t, err, locks.ErrUnavailable, dir, "no space left on device")
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	top := mount(t, "size=64k,mode=0755")
	dir := filepath.Join(top, "locks")
	pass(t, dir)
	if err := unix.Mount("", top, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, dir).Acquire(t.Context(), true)
	refusal(t, err, locks.ErrDenied, dir, "read-only file system")
	_, err = openWith(t, filepath.Join(top, "new"), locks.Options{Name: "a"}).Acquire(t.Context(), true)
	refusal(t, err, locks.ErrDenied, "new", "read-only file system")
	found(t, probing(t, open(t, dir)), "directory", "error", "read-only file system")
	found(t, probing(t, open(t, filepath.Join(top, "new"))), "directory", "error", "read-only file system")
}

// TestProbeVolume finds what is lost at a reboot, and how little is left.
func TestProbeVolume(t *testing.T) {
	t.Parallel()
	for options, level := range map[string]string{"size=1m": "error", "size=32m": "warning", "size=1g": "ok", "size=1g,nr_inodes=10": "error", "size=1g,nr_inodes=100": "warning", "size=1g,nr_inodes=0": "ok"} {
		s := probing(t, open(t, filepath.Join(mount(t, options+",mode=0755"), "locks")))
		found(t, s, "room", level)
		found(t, s, "file system", "warning", "tmpfs", "reboot")
		if got := s.Servers[0].Version; got != "tmpfs" {
			t.Errorf("got %q", got)
		}
	}
	for magic, want := range map[uint32]string{unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", 1: "0x1"} {
		if got, lost := volumeType(magic); got != want || lost != "" {
			t.Errorf("%#x: %q, lost %q", magic, got, lost)
		}
	}
	if got, lost := volumeType(unix.OVERLAYFS_SUPER_MAGIC); got != "overlay" || !strings.Contains(lost, "container") {
		t.Errorf("got %q, lost %q", got, lost)
	}
}
