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
	intake
	file *os.File
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
		n, failed = offerTo(int(fd), b)
		return true
	})
	return n, errors.Join(err, failed)
}

func offerTo(fd int, b []byte) (n int, err error) {
	n, err = unix.Write(fd, b)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		err = nil
	}
	return max(n, 0), err
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
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		failed = c.receiveFrom(int(fd))
		return !errors.Is(failed, unix.EAGAIN)
	})
	return errors.Join(err, failed)
}

// An intake is what was received from a socket.
type intake struct {
	buf   []byte // bytes that were read, and are not a whole frame yet
	files []int  // descriptors
}

// receiveFrom reads once. At the end it returns io.EOF.
func (c *intake) receiveFrom(fd int) error {
	var data [4096]byte
	var rights [64]byte
	n, nrights, _, _, err := unix.Recvmsg(fd, data[:], rights[:], receiveFlags)
	if err != nil {
		return err
	}
	c.take(rights[:nrights])
	if n == 0 {
		return io.EOF
	}
	c.buf = append(c.buf, data[:n]...)
	return nil
}

// cut returns the next frame, if all of it was received.
func (c *intake) cut() (f frame, ok bool, err error) {
	f, rest, ok, err := cutFrame(c.buf)
	if ok {
		c.buf = rest
	}
	return f, ok, err
}

// take notes the files that were received.
func (c *intake) take(rights []byte) {
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

func (c *intake) nextFile(name string) *os.File {
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
		if f, ok, err := c.cut(); ok || err != nil {
			return f, err
		}
		if err := c.fill(); err != nil {
			return frame{}, err
		}
	}
}

func (c *conn) close() { _ = c.file.Close() }
