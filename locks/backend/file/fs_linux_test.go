package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
)

// TestFileSystems checks that only file systems known to be local are accepted, and with
// fs=any also unknown ones, but never one made for several machines.
func TestFileSystems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reach  reach
		magics map[uint32]string
	}{
		{local, map[uint32]string{
			unix.EXT4_SUPER_MAGIC: "ext4", unix.TMPFS_MAGIC: "tmpfs", unix.XFS_SUPER_MAGIC: "xfs",
			unix.BTRFS_SUPER_MAGIC: "btrfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", 0x2fc12fc1: "zfs",
		}},
		{unknown, map[uint32]string{0x01021997: "9p", 0x65735546: "FUSE", 0xa501fcf5: "VxFS", 0x12345678: "0x12345678"}},
		{shared, map[uint32]string{
			0x6969: "NFS", 0xff534d42: "SMB", 0xfe534d42: "SMB", 0x517b: "SMB", 0x00c36400: "Ceph", 0x5346414f: "AFS",
			0x19830326: "BeeGFS", 0xaad7aaea: "PanFS", 0x20030528: "OrangeFS", 0x61636673: "ACFS",
			0xbeefdead: "StorNext", 0x013111a8: "IBRIX", 0x7c7c6673: "prl_fs",
		}},
	} {
		for magic, name := range tt.magics {
			for _, anyFS := range []bool{false, true} {
				t.Run(fmt.Sprint(name, anyFS), func(t *testing.T) {
					t.Parallel()
					dir := testDir(t)
					l := open(t, dir)
					l.fileSystem, l.place.anyFS = on(byMagic(magic)), anyFS
					if tt.reach == local || tt.reach == unknown && anyFS {
						hold(t, l)
						return
					}
					_, err := l.Acquire(t.Context(), true)
					refusal(t, err, locks.ErrUsage, dir, name)
					if got := strings.Contains(locks.Hint(err), "'file://"+dir+"?fs=any'"); got != (tt.reach == unknown) {
						t.Errorf("the hint is %q", locks.Hint(err))
					}
					if _, err := os.Stat(l.path); err == nil {
						t.Error("a lock file was made")
					}
				})
			}
		}
	}
	for i, a := range types {
		for _, b := range types[:i] {
			if a.magic == b.magic {
				t.Errorf("%#x is both %s and %s", a.magic, a.name, b.name)
			}
		}
	}
}

// TestAnyFileSystem: if it is unknown what keeps the written data, each token is on disk
// before it is used, and the holder is shown as usual.
func TestAnyFileSystem(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	var last uint64
	for range 3 {
		l := open(t, dir)
		l.fileSystem, l.place.anyFS = on(fileSystem{"FUSE", unknown}), true
		g := hold(t, l)
		if e := l.term.entry; e.boot != "" || e.reserved != g.Token || g.Token <= last {
			t.Errorf("got %+v after the token %d", e, last)
		}
		st, err := l.Inspect(t.Context())
		if err != nil || st.Holder != l.o.Holder {
			t.Errorf("got %+v, %v", st, err)
		}
		last = g.Token
		_ = l.Close()
	}
}

// TestFileSystemOf checks which file system a file is on.
func TestFileSystemOf(t *testing.T) {
	t.Parallel()
	f, err := os.Open("/proc")
	needs(t, err == nil, "/proc")
	defer f.Close()
	if got, err := fileSystemOf(f); got != (fileSystem{"0x9fa0", unknown}) || err != nil {
		t.Errorf("/proc: got %v, %v", got, err)
	}
}

// TestMountedOver: a file of another file system is mounted over a file in a local
// directory.
func TestMountedOver(t *testing.T) {
	t.Parallel()
	huge := mounted(t, "hugetlbfs", "mode=0700") // not in our table
	_, err := open(t, huge).Acquire(t.Context(), true)
	refusal(t, err, locks.ErrUsage, huge, "0x958458f6", "not known to be local")

	dir := testDir(t)
	l := open(t, dir)
	hold(t, l)
	setRecord(t, l, "text")
	release(t, l)
	for _, path := range []string{l.path, l.beside(recordSuffix)} {
		over := filepath.Join(huge, filepath.Base(path))
		f, err := os.OpenFile(over, os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if err := unix.Mount(over, path, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	}
	words := []string{l.path, "0x958458f6"}
	_, err = open(t, dir).Acquire(t.Context(), true)
	refusal(t, err, locks.ErrUsage, words...)
	_, err = l.Inspect(t.Context())
	refusal(t, err, locks.ErrUsage, words...)
	refusal(t, l.Forget(t.Context()), locks.ErrUsage, words...)
	_, err = l.Record(t.Context())
	refusal(t, err, locks.ErrUsage, l.beside(recordSuffix), "0x958458f6")
}

// mount mounts a tmpfs of the given size and returns the directory.
func mount(t *testing.T, options string) string {
	t.Helper()
	return mounted(t, "tmpfs", options)
}

func mounted(t *testing.T, kind, options string) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount(kind, dir, kind, 0, options)
	needs(t, err == nil, "the right to mount a "+kind)
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// fill leaves no space in the file system of dir.
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
	hold(t, again) // its space is already allocated
	release(t, again)
	free()
	pass(t, dir)
}

// TestFullDirectory runs without any inodes left.
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
}

// TestProbeTmpfs checks the finding about what is lost at a reboot, also before the directory is
// made.
func TestProbeTmpfs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(mount(t, "mode=0755"), "locks")
	for range 2 {
		s := probing(t, open(t, dir))
		found(t, s, "file system", "warning", "tmpfs", "reboot")
		if got := s.Servers[0].Version; got != "tmpfs" {
			t.Errorf("got %q", got)
		}
		pass(t, dir)
	}
	if lost := byMagic(unix.OVERLAYFS_SUPER_MAGIC).lost(); !strings.Contains(lost, "container") {
		t.Errorf("got %q", lost)
	}
	if lost := byMagic(unix.EXT4_SUPER_MAGIC).lost(); lost != "" {
		t.Errorf("got %q", lost)
	}
}
