//go:build bench && linux

package bench

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// megabyte is 10⁶ bytes.
const megabyte = 1e6

// file wraps true in leaderrun and in flock(1).
func (b *bench) file(t *testing.T) section {
	const rounds, memoryRounds = 500, 10
	dir := filepath.Join(t.TempDir(), "locks")
	ours := command{argv: []string{b.core, "-b", "file://" + dir, "--", "true"}}
	peer := command{argv: []string{look(t, "flock"), filepath.Join(t.TempDir(), "lock"), "true"}}
	c := alternate(rounds, func() use { return b.run(t, ours) }, func() use { return b.run(t, peer) })
	inMemory := ours
	inMemory.env = []string{"TMPDIR=" + memoryDir(t)}
	s := alternate(rounds, func() use { return b.run(t, inMemory) }, func() use { return b.run(t, peer) })
	var rss sample
	for range memoryRounds {
		rss = append(rss, b.peakRSS(t, command{argv: ours.argv[:4]}, "sleep", "0.5")/megabyte)
	}
	return section{
		title:    "Wrapping `true` on one machine: `file` and flock(1)",
		commands: []string{ours.shown(), peer.shown()},
		figures: append(c.figures("", budget{wall: 4.2, cpu: 5.2, faults: 830, switches: 230}),
			versus("wall, with /tmp in memory, as many systems have it", "ms", s.ours.wall, s.peer.wall, 4.2),
			b.reaped(t, ours, peer),
			atMost("core on disk", "MB", sample{fileSize(t, b.core) / megabyte}, 0),
			atMost("peak resident, leaderrun and its guard", "MB", rss, 0)),
		notes: []string{"Two Go programs that do nothing, of which one starts the other, take 2.3 to 2.8 times as long as flock."},
	}
}

// reaped measures what the caller pays in wait4(2) after a command has ended, with a busy loop on
// each processor: the kernel may have to wait for threads that are still ending.
func (b *bench) reaped(t *testing.T, ours, peer command) figure {
	const rounds = 100
	var done atomic.Bool
	defer done.Store(true)
	for range runtime.NumCPU() {
		go func() {
			for !done.Load() {
			}
		}()
	}
	var a, p sample
	for range rounds {
		a, p = append(a, ms(b.reap(t, ours))), append(p, ms(b.reap(t, peer)))
	}
	return versus("wait4 of the caller, beside a busy loop on each processor", "ms", a, p, 0)
}

// reap returns how long it takes to wait for a command that has ended.
func (b *bench) reap(t *testing.T, c command) time.Duration {
	t.Helper()
	b.rewind(t)
	cmd := b.prepare(c)
	cmd.Stderr = b.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		err = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	err = cmd.Wait()
	took := time.Since(start)
	b.check(t, c, err)
	return took
}

// memoryDir returns a directory on a tmpfs, or any directory if there is no tmpfs.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "bench-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	return dir
}

func look(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
