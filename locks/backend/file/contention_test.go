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

// TestProcesses makes many processes take the lock, 10 times each.
func TestProcesses(t *testing.T) {
	t.Parallel()
	crowd(t, often(50, 200))
}

// TestUnlinkRace makes them delete the file while they hold it, so that others wait for a
// worthless lock.
func TestUnlinkRace(t *testing.T) {
	t.Parallel()
	crowd(t, often(15, 30), unlinkVar+"=1")
}

func crowd(t *testing.T, n int, env ...string) {
	dir := testDir(t)
	env = append(env, fenceVar+"="+filepath.Join(t.TempDir(), "fence"))
	var wg sync.WaitGroup
	for range n {
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

// TestKilledHolder checks that the death of the holder frees the lock for a waiter at
// once.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	_, kill := held(t, dir)
	b := open(t, dir)
	done := waiting(t, t.Context(), b)
	kill()
	if err := within(t, done, "Acquire after the holder's death"); err != nil {
		t.Error(err)
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

// BenchmarkUncontended measures all that a run costs here: open, acquire, release.
func BenchmarkUncontended(b *testing.B) {
	dir := testDir(b)
	for b.Loop() {
		l, err := Open(b.Context(), dirURL(dir), locks.Options{Name: "a", Holder: "host/1/x"})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := l.Acquire(b.Context(), false); err != nil {
			b.Fatal(err)
		}
		if err := l.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
		_ = l.Close()
	}
}

// BenchmarkHandOver measures the time from a release to the waiter's grant.
func BenchmarkHandOver(b *testing.B) {
	dir := testDir(b)
	a := open(b, dir)
	hold(b, a)
	var total time.Duration
	for b.Loop() {
		next := open(b, dir)
		asked := make(chan locks.Waiting, 1)
		next.o.Waiting = func(w locks.Waiting) { asked <- w }
		won := make(chan time.Time, 1)
		go func() {
			_, _ = next.Acquire(b.Context(), false)
			won <- time.Now()
		}()
		<-asked
		time.Sleep(time.Millisecond) // until the waiter is in flock
		released := time.Now()
		release(b, a)
		total += (<-won).Sub(released)
		_ = a.Close()
		a = next
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs/handover")
}
