package proc

import (
	"os"
	"strconv"
)

// SeesUs returns [ErrForeign] if /proc belongs to another pid namespace than ours, where
// processes have other ids.
func SeesUs() error {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return ErrForeign
	}
	return nil
}
