package host

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

func mount(t *testing.T, name, dir string) {
	t.Helper()
	if err := unix.Mount(name, dir, "tmpfs", 0, "size=4096"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }) // it is unmounted by then
}

// TestFillDisk lets a process of the host append more than a page to a file, and create
// an empty file and a directory.
func TestFillDisk(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, Space, Options{})
	commands := map[string]string{
		"some bytes":    `printf %5000d 1 >>"$TMPDIR/old"`,
		"an empty file": `: >"$TMPDIR/new"; s=$?; rm -f "$TMPDIR/new"; exit $s`,
		"a directory":   `mkdir "$TMPDIR/dir" && rmdir "$TMPDIR/dir"`,
	}
	check := func(when string, want bool) {
		t.Helper()
		for what, script := range commands {
			if out, err := h.Command("/bin/sh", "-c", script).CombinedOutput(); (err == nil) != want {
				t.Errorf("%s, %s: %v, %s", when, what, err, out)
			}
		}
	}
	if err := os.WriteFile(h.TempDir()+"/old", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check("before", true)
	for range 2 { // a second time changes nothing
		if err := h.FillDisk(); err != nil {
			t.Fatal(err)
		}
	}
	check("full", false)
	if err := h.FreeDisk(); err != nil {
		t.Fatal(err)
	}
	check("freed", true)
}

// TestDisks checks that disks are separate.
func TestDisks(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, Space, Options{})
	other, err := newDisk(t, 1<<16, newName())
	if err != nil {
		realserver.Missing(t, err.Error())
	}
	if err := other.Fill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other.Dir()+"/a", nil, 0o600); err == nil {
		t.Error("the other disk has room")
	}
	if err := os.WriteFile(h.TempDir()+"/a", []byte("a"), 0o600); err != nil {
		t.Error(err)
	}
}
