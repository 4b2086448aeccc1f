package realserver

import (
	"os"
	"syscall"
	"testing"
)

// nobody is the number of the user and group "nobody" on nearly every system.
const nobody = 65534

// credential returns that of the user nobody, if it is wanted and we can switch to it.
func credential(asNobody bool) *syscall.Credential {
	if !asNobody || os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: nobody, Gid: nobody}
}

// Yield gives files to the user nobody, if we are root.
func Yield(tb testing.TB, paths ...string) {
	tb.Helper()
	for _, path := range paths {
		if credential(true) == nil {
			return
		}
		if err := os.Chown(path, nobody, nobody); err != nil {
			tb.Fatal(err)
		}
	}
}
