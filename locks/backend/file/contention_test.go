package file

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
)

// TestUnlinkRace makes many processes take the lock, 10 times each, and delete the file while
// they hold it, so that others wait for a worthless lock.
func TestUnlinkRace(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	env := []string{fenceVar + "=" + filepath.Join(t.TempDir(), "fence"), unlinkVar + "=1"}
	var wg sync.WaitGroup
	for range often(15, 50) {
		cmd := inRole(t, "pass", dir, env...)
		wg.Go(func() {
			if out, err := cmd.Output(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
}

// TestUnlinkRaceInside does the same with goroutines, which race more closely.
func TestUnlinkRaceInside(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	f := fence(filepath.Join(t.TempDir(), "fence"))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 40 {
				if err := passFenced(t, dir, f, i%4 == 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func passFenced(t *testing.T, dir string, f fence, unlink bool) error {
	opened, err := Open(t.Context(), dirURL(dir), locks.Options{Name: "a"})
	if err != nil {
		return err
	}
	l := opened.(*Locker)
	g, err := l.Acquire(t.Context(), false)
	if err == nil {
		err = f.enter(g.Token)
	}
	if err == nil && unlink {
		err = os.Remove(l.path)
	}
	return errors.Join(err, l.Release(t.Context()), l.Close())
}

// TestWaiterUsesNoCPU measures a process that waits for 2 s.
func TestWaiterUsesNoCPU(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	hold(t, open(t, dir))
	n, err := strconv.Atoi(output(t, inRole(t, "wait", dir)))
	if err != nil {
		t.Fatal(err)
	}
	used := time.Duration(n)
	t.Logf("2 s of waiting took %v", used)
	if used > 5*time.Millisecond {
		t.Errorf("2 s of waiting took %v of CPU time", used)
	}
}

// openFiles counts the descriptors of this process that lead to path.
func openFiles(t *testing.T, path string) int {
	t.Helper()
	const fds = "/proc/self/fd"
	all, err := os.ReadDir(fds)
	needs(t, err == nil, fds)
	n := 0
	for _, fd := range all {
		if to, err := os.Readlink(filepath.Join(fds, fd.Name())); err == nil && to == path {
			n++
		}
	}
	return n
}
