package guard

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/program/threads"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// A line is one end of the connection between leaderrun and its guard: a [conn], or in tests
// a model of one. Only one goroutine at a time writes to it.
type line interface {
	// send waits until the other end reads, for however long. It fails when the other end
	// has died, or this end is closed.
	send(frame) error
	// offer writes as much of b as there is room for. It does not wait.
	offer(b []byte) (n int, err error)
	// sendFiles sends a small frame with files.
	sendFiles(f frame, files ...int) error
	// nextFile returns the next file that was received, or nil.
	nextFile(name string) *os.File
	// receive waits for a frame. After the other end has closed the line, or died, it
	// returns io.EOF.
	receive() (frame, error)
	close()
}

// A conn is one end of the socket.
type conn struct {
	file *os.File

	buf   []byte // bytes that were read, and are not a whole frame yet
	files []int  // descriptors that were received
}

// newConn takes over a descriptor of a socket.
func newConn(fd int) (*conn, error) {
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return &conn{file: os.NewFile(uintptr(fd), "guard")}, nil
}

func (c *conn) sendFiles(f frame, files ...int) error {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Write(func(fd uintptr) bool {
		sent = unix.Sendmsg(int(fd), f.encode(), unix.UnixRights(files...), nil, 0)
		return !errors.Is(sent, unix.EAGAIN)
	})
	return errors.Join(err, sent)
}

func (c *conn) offer(b []byte) (n int, err error) {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		n, failed = unix.Write(int(fd), b)
		return true
	})
	if errors.Is(failed, unix.EAGAIN) || errors.Is(failed, unix.EINTR) {
		failed = nil
	}
	return max(n, 0), errors.Join(err, failed)
}

// hello waits for the first frame of a guard. Before that, all that comes is the text with
// which the Go runtime ends the guard's process.
func (c *conn) hello() error {
	f, err := c.receive()
	if err == nil && f.kind == kindReady {
		return nil
	}
	for err = nil; err == nil && len(c.buf) < pages; {
		err = c.fill()
	}
	said, _, _ := strings.Cut(string(c.buf), "\n")
	switch {
	case threads.Aborted(said):
		return fmt.Errorf("%w: %w", threads.ErrOut, proc.ErrGuardDied)
	case said != "":
		return fmt.Errorf("%w: %q", proc.ErrGuardDied, said)
	}
	return proc.ErrGuardDied
}

// pages is more than the text of the Go runtime that says what has happened.
const pages = 16 << 10

// fill waits until it can read something, and appends it to buf.
func (c *conn) fill() error {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	var data [4096]byte
	var rights [64]byte
	var n, nrights int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, nrights, _, _, failed = unix.Recvmsg(int(fd), data[:], rights[:], receiveFlags)
		return !errors.Is(failed, unix.EAGAIN)
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	c.take(rights[:nrights])
	if n == 0 {
		return io.EOF
	}
	c.buf = append(c.buf, data[:n]...)
	return nil
}

// take notes the files that were received.
func (c *conn) take(rights []byte) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			c.files = append(c.files, fd)
		}
	}
}

func (c *conn) nextFile(name string) *os.File {
	if len(c.files) == 0 {
		return nil
	}
	fd := c.files[0]
	c.files = c.files[1:]
	return os.NewFile(uintptr(fd), name)
}

func (c *conn) send(f frame) error {
	_, err := c.file.Write(f.encode())
	return err
}

func (c *conn) receive() (frame, error) {
	for {
		f, rest, ok, err := cutFrame(c.buf)
		if err != nil {
			return frame{}, err
		}
		if ok {
			c.buf = rest
			return f, nil
		}
		if err := c.fill(); err != nil {
			return frame{}, err
		}
	}
}

func (c *conn) close() { _ = c.file.Close() }

// feed sends received frames to a channel, until there are no more or done is closed.
func feed(l line, frames chan<- frame, done <-chan struct{}) {
	defer close(frames)
	for {
		f, err := l.receive()
		if err != nil {
			return
		}
		select {
		case frames <- f:
		case <-done:
			return
		}
	}
}
