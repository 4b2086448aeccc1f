//go:build unix

package helper

import (
	"io"
	"os"
	"syscall"
)

// input is standard input, read through the runtime's poller. A goroutine in a
// blocking read holds a processor until the scheduler takes it away, which more
// than doubles the time of a round trip.
func input() io.Reader {
	if err := syscall.SetNonblock(0, true); err != nil {
		return os.Stdin
	}
	return os.NewFile(0, os.Stdin.Name())
}
