package cmd

import (
	"os"

	"golang.org/x/sys/windows"
)

// columns returns how wide a console is, and whether f is one.
func columns(f *os.File) (int, bool) {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 0, false
	}
	return int(info.Size.X), true
}

func undisturbed() {}
