package output

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/terminal"
)

// Screen returns the size of a terminal, and reports whether f is one.
func Screen(f *os.File) (columns, rows int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0, 0, false
	case size.Col == 0 || size.Row == 0: // the terminal does not know its size
		return Width, 24, true
	}
	return int(size.Col), int(size.Row), true
}

// undisturbed lets a goroutine write to a terminal that belongs to the job.
func undisturbed() { terminal.Undisturbed() }

// isInherited reports whether a descriptor was open when we were started. We open all
// others with close-on-exec.
func isInherited(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}

// isJournal reports whether a file is the stream to systemd's journal that we were started
// with, systemd.exec(5). A process whose standard error is another file inherits the
// variable as well.
func isJournal(f *os.File) bool {
	stream := os.Getenv("JOURNAL_STREAM")
	var st unix.Stat_t
	return stream != "" && unix.Fstat(int(f.Fd()), &st) == nil && stream == fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
