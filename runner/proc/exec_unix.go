//go:build unix

package proc

import (
	"errors"
	"syscall"
)

// Exec replaces this process by a command, as execvp(3) would. It returns only
// if that fails, with a *[StartError]. If we are the first process of the job of
// the leaderrun with the given process id, so is the command: it dies with it.
func Exec(c Command, leaderrun int) error {
	dieWith(leaderrun)
	err := syscall.Exec(c.Path, c.Args, c.Env)
	if errors.Is(err, syscall.ENOEXEC) {
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", c.Path}, c.Args[1:]...), c.Env)
	}
	return startError(c.Path, err)
}
