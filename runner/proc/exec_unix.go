//go:build unix

package proc

import (
	"errors"
	"syscall"
)

// Exec replaces this process by a command, as execvp(3) would. It returns only
// if that fails, with a *[StartError].
func Exec(c Command) error {
	err := syscall.Exec(c.Path, c.Args, c.Env)
	if errors.Is(err, syscall.ENOEXEC) {
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", c.Path}, c.Args[1:]...), c.Env)
	}
	return startError(c.Path, err)
}
