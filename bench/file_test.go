//go:build bench && linux

package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
		figures: []figure{
			versus("wall", "ms", c.ours.wall, c.peer.wall, 2.6),
			versus("CPU of all processes", "ms", c.ours.cpu, c.peer.cpu, 0),
			versus("wall, with /tmp in memory, as many systems have it", "ms", s.ours.wall, s.peer.wall, 2.6),
			atMost("core on disk", "MB", sample{fileSize(t, b.core) / megabyte}, 5),
			atMost("peak resident, leaderrun and its guard", "MB", rss, 10),
		},
	}
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
