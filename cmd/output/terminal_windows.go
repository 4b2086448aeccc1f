package output

import (
	"os"

	"golang.org/x/sys/windows"
)

// Screen returns how large a console's window is, and whether f is one.
func Screen(f *os.File) (columns, rows int, ok bool) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 0, 0, false
	}
	return int(info.Size.X), int(info.Window.Bottom-info.Window.Top) + 1, true
}

func undisturbed() {}
