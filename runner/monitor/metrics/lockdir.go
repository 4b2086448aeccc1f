package metrics

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Runs of one lock on one host change the same file at about the same moment: one releases
// the lock as the next acquires it. A lock on the file's directory makes them take turns,
// and leaves nothing in it that the collector might read. We wait this long for the lock,
// and then write without it: at worst a count is lost.
const (
	lockPatience = 500 * time.Millisecond
	lockPause    = 2 * time.Millisecond
)

// lockDir locks a directory, and returns a function that unlocks it.
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
