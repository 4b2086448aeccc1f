//go:build unix

package cmd

import (
	"errors"
	"os"
	"syscall"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// become replaces this process by the command. It returns only if it fails.
func become(c proc.Command) (int, error) {
	err := syscall.Exec(c.Path, c.Args, c.Env)
	return 0, &proc.StartError{Command: c.Args[0], NotFound: errors.Is(err, os.ErrNotExist), Err: err}
}
