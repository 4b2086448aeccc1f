package output

import (
	"os"

	"golang.org/x/sys/windows"
)

// Screen returns the size of a console's window, and reports whether f is a console.
func Screen(f *os.File) (columns, rows int, ok bool) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 0, 0, false
	}
	return int(info.Size.X), int(info.Window.Bottom-info.Window.Top) + 1, true
}

func undisturbed() {}

// isInherited reports whether a descriptor is open.
func isInherited(fd int) bool {
	_, err := os.NewFile(uintptr(fd), "").Stat()
	return err == nil
}

func isJournal(*os.File) bool { return false }
