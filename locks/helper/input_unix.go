//go:build unix

package helper

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// input returns standard input, read through the runtime's poller. A goroutine in a
// blocking read occupies a processor until the scheduler takes it away, which more than
// doubles the time of a round trip.
func input() io.Reader {
	if err := syscall.SetNonblock(0, true); err != nil {
		return os.Stdin
	}
	return os.NewFile(0, os.Stdin.Name())
}

// reuse returns the pipe for another program to read, without what the previous program
// left unread. That program must have ended.
func (p *pipe) reuse() *pipe {
	fd := int(p.r.Fd())
	_ = unix.SetNonblock(fd, true) // until the next program starts
	var unread [4 << 10]byte
	for {
		if n, err := unix.Read(fd, unread[:]); n < 1 && !errors.Is(err, unix.EINTR) {
			return p
		}
	}
}
