//go:build unix

package metrics

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Runs of one lock on one host change the same file at the same moment: one has
// released when the next one has acquired. A lock on its directory lets one after
// the other do it, and leaves nothing there that the collector might read. It is
// waited for so long, and then done without: what is lost is a count.
const (
	lockPatience = 200 * time.Millisecond
	lockPause    = 2 * time.Millisecond
)

// lockDir returns what unlocks it.
func lockDir(dir string) (unlock func()) {
	d, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(lockPatience); time.Now().Before(end); time.Sleep(lockPause) {
		if unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			break
		}
	}
	return func() { _ = d.Close() }
}
