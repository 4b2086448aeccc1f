package cmd

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The minimum that must be free. A backend must do with what is left beyond that.
const (
	descriptorsOfRun  = 28
	descriptorsToRead = 8
)

// manyDescriptors is enough: with this limit or a higher one we do not count.
const manyDescriptors = 256

// afford returns an error if there are too few descriptors for a subcommand.
func afford(command string) error {
	descriptors := descriptorsToRead
	if command == "run" {
		descriptors = descriptorsOfRun
	}
	if free := freeDescriptors(); free < descriptors { // first, because the other check opens files
		return fmt.Errorf("only %d more files can be open at once, and it takes %d: raise the limit (ulimit -n)", free, descriptors)
	}
	return nil
}

func freeDescriptors() (free int) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur >= manyDescriptors {
		return manyDescriptors
	}
	for fd := range int(limit.Cur) {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			free++
		}
	}
	return free
}
