package guard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A conn is one end of the pipe.
type conn struct {
	file *os.File
	peer *os.Process // the guard; nil in the guard

	buf []byte // bytes that were read, and are not a whole frame yet
}

// newConn takes over a handle of a pipe.
func newConn(h windows.Handle) *conn { return &conn{file: os.NewFile(uintptr(h), "guard")} }

// pipeSize is the size of the pipe's buffer: far more than all frames that are under way at
// one time.
const pipeSize = 64 << 10

// pipe returns two connected ends. Processes that we start can inherit theirs. The pipe has a
// name, because a write to a pipe without one cannot be cancelled when nobody reads.
func pipe() (ours, theirs windows.Handle, err error) {
	path := fmt.Sprintf(`\\.\pipe\leaderrun-guard-%d-%016x`, os.Getpid(), rand.Uint64())
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, 0, err
	}
	const flags = windows.PIPE_ACCESS_DUPLEX | windows.FILE_FLAG_FIRST_PIPE_INSTANCE | windows.FILE_FLAG_OVERLAPPED
	ours, err = windows.CreateNamedPipe(name, flags, windows.PIPE_TYPE_BYTE|windows.PIPE_REJECT_REMOTE_CLIENTS,
		1, pipeSize, pipeSize, 0, nil)
	if err != nil {
		return 0, 0, os.NewSyscallError("CreateNamedPipe", err)
	}
	inherit := &windows.SecurityAttributes{InheritHandle: 1}
	inherit.Length = uint32(unsafe.Sizeof(*inherit))
	theirs, err = windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, inherit,
		windows.OPEN_EXISTING, windows.FILE_FLAG_OVERLAPPED, 0)
	if err != nil {
		_ = windows.CloseHandle(ours)
		return 0, 0, &os.PathError{Op: "CreateFile", Path: path, Err: err}
	}
	return ours, theirs, nil
}

// sendFiles duplicates handles into the guard, and sends a frame that ends with their
// values.
func (c *conn) sendFiles(f frame, files ...int) error {
	for _, ours := range files {
		var theirs windows.Handle
		var failed error
		err := c.peer.WithHandle(func(peer uintptr) {
			failed = windows.DuplicateHandle(windows.CurrentProcess(), windows.Handle(ours), windows.Handle(peer), &theirs,
				0, false, windows.DUPLICATE_SAME_ACCESS)
		})
		if err := errors.Join(err, os.NewSyscallError("DuplicateHandle", failed)); err != nil {
			return err
		}
		f.body = binary.BigEndian.AppendUint64(f.body, uint64(theirs))
	}
	return c.send(f)
}

// nextFile returns nil: handles are in the frame.
func (c *conn) nextFile(string) *os.File { return nil }

// writeTimeout is how long the guard waits if the pipe is full, because then leaderrun is
// frozen.
const writeTimeout = 100 * time.Millisecond

// report is like send, but does not wait for a leaderrun that is frozen. The guard uses it.
func (c *conn) report(f frame) error {
	_ = c.file.SetWriteDeadline(time.Now().Add(writeTimeout))
	return c.send(f)
}

// offer writes nothing, because the system has no such call for a pipe.
func (c *conn) offer([]byte) (int, error) { return 0, nil }

// fill waits until it can read something, and appends it to buf.
func (c *conn) fill() error {
	var data [4096]byte
	n, err := c.file.Read(data[:])
	c.buf = append(c.buf, data[:n]...)
	return err
}
