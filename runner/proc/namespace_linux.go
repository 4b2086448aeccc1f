package proc

import (
	"os"
	"strconv"
)

// SeesUs is [ErrForeign] if /proc is not that of our own pid namespace: processes have
// other ids there.
func SeesUs() error {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return ErrForeign
	}
	return nil
}
