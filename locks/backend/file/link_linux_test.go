package file

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
)

// TestLinkedDir: a directory through a link that only we can have made is the same as its
// target for every operation.
func TestLinkedDir(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	w, changed := watch(t, link, true)
	l := open(t, link)
	hold(t, l)
	drive.Changed(t, changed, "the lock is held", func() bool { return inspect(t, w).Held })
	setRecord(t, l, "text")
	wantRecord(t, open(t, dir), "text")
	if _, err := open(t, dir).Acquire(t.Context(), true); !errors.Is(err, locks.ErrHeld) {
		t.Errorf("by its own path: got %v; want ErrHeld", err)
	}
	if page, _, err := w.List(t.Context(), ""); err != nil || len(page) != 1 || !page[0].Status.Held {
		t.Errorf("got %v, %v", page, err)
	}
	found(t, probing(t, w), "directory", "ok")

	drive.Eventually(t, drive.Patience, "a watch", func() bool { return isWatched(t, l.path) && isWatched(t, dir) })
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	refusal(t, drive.Within(t, drive.Patience, l.Lost()), locks.ErrLost, l.path)
}

// TestStateDirectory checks what a unit with StateDirectory=job and DynamicUser=yes
// finds: a link of root's to the unit's own directory, in a directory of root's which
// systemd makes accessible only to the unit.
func TestStateDirectory(t *testing.T) {
	t.Parallel()
	needs(t, os.Geteuid() == 0, "root")
	top := shortDir(t)
	private, link := filepath.Join(top, "private"), filepath.Join(top, "job")
	dir := filepath.Join(private, "job")
	for _, err := range []error{
		os.Chmod(top, 0o755), os.Mkdir(private, 0o755), os.Mkdir(dir, 0o755), os.Chown(dir, nobody, nobody), os.Symlink("private/job", link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	acquire := func(dir string) string {
		cmd := inRole(t, "acquire", dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Dir = "/"
		return output(t, cmd)
	}
	for path, file := range map[string]string{link: "a.lock", link + "/locks": "locks/a.lock"} {
		if got := acquire(path); got != "<nil>; hint:" {
			t.Errorf("%s: %s", path, got)
		}
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	if err := os.Chmod(private, 0o700); err != nil { // as outside of the unit
		t.Fatal(err)
	}
	printed(t, acquire(link), locks.ErrDenied, link+`" is a symbolic link that is not followed`, "permission denied")
}
