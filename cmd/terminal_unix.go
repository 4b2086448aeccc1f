//go:build unix

package cmd

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/terminal"
)

// undisturbed lets a goroutine write to a terminal that belongs to the job.
func undisturbed() { terminal.Undisturbed() }

// columns returns how wide a terminal is, and whether f is one.
func columns(f *os.File) (int, bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0, false
	case size.Col == 0: // nobody has told the terminal
		return helpWidth, true
	}
	return int(size.Col), true
}
