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
	peer *os.Process // the guard; nil on its own side

	buf []byte // what was read and makes no whole frame yet
}

// newConn takes over a handle of a pipe.
func newConn(h windows.Handle) *conn { return &conn{file: os.NewFile(uintptr(h), "guard")} }

// pipeSize is how much the pipe holds: far more frames than there ever are at
// once.
const pipeSize = 64 << 10

// pipe returns two connected ends, of which what we start can inherit theirs. A
// pipe without a name is of no use here: a write to one cannot be given up when
// nobody reads.
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

// sendFiles gives handles to the guard, and sends a frame with their numbers at
// its end.
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

// nextFile is of no use here, as handles come with their numbers.
func (c *conn) nextFile(string) *os.File { return nil }

// writeTimeout is how long the guard waits for leaderrun, which is frozen if it leaves so
// much unread.
const writeTimeout = 100 * time.Millisecond

// say is send of a guard, which waits for nobody who is frozen.
func (c *conn) say(f frame) error {
	_ = c.file.SetWriteDeadline(time.Now().Add(writeTimeout))
	return c.send(f)
}

// offer writes nothing: the system has no such call for a pipe.
func (c *conn) offer([]byte) (int, error) { return 0, nil }

// fill reads what there is.
func (c *conn) fill() error {
	var data [4096]byte
	n, err := c.file.Read(data[:])
	c.buf = append(c.buf, data[:n]...)
	return err
}
