//go:build unix

package output

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/terminal"
)

// undisturbed lets a goroutine write to a terminal that belongs to the job.
func undisturbed() { terminal.Undisturbed() }

// Screen returns how large a terminal is, and whether f is one.
func Screen(f *os.File) (columns, rows int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0, 0, false
	case size.Col == 0 || size.Row == 0: // nobody has told the terminal
		return Width, 24, true
	}
	return int(size.Col), int(size.Row), true
}
