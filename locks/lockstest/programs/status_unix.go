//go:build unix

package programs

import (
	"os"
	"syscall"
)

// Status returns the exit status of a process as a shell shows it, or -1 if there is
// none.
func Status(s *os.ProcessState) int {
	if s == nil {
		return -1
	}
	if ws := s.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}
