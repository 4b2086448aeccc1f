//go:build unix

package socket

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The calls below are made by hand, as package net alone would be an eighth of
// the core's size.

// A Server answers on one socket.
type Server struct {
	dir  string
	file *os.File
	done sync.WaitGroup
}

// Serve starts to answer, until Close. The function is called for each client.
func Serve(answer func() Answer) (*Server, error) {
	dir, err := privateDir()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if s.file, err = listen(s.Path()); err != nil {
		_ = os.RemoveAll(dir)
		return nil, &os.PathError{Op: "listen", Path: s.Path(), Err: err}
	}
	s.done.Go(func() { s.accept(answer) })
	return s, nil
}

// Path is the socket's path.
func (s *Server) Path() string { return filepath.Join(s.dir, "s") }

// Files are what Close removes, in its order.
func (s *Server) Files() []string { return []string{s.Path(), s.dir} }

// Close stops answering and removes the socket and its directory.
func (s *Server) Close() error {
	_ = s.file.Close() // nothing was written to it
	s.done.Wait()
	return s.remove()
}

// remove spares the two names that are known what os.RemoveAll does to find
// them, unless the job has tampered with them.
func (s *Server) remove() error {
	if unix.Unlink(s.Path()) == nil && unix.Rmdir(s.dir) == nil {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// maxDir is the longest directory, in bytes, under which a socket's path has
// room: that is at most 103 bytes on some systems.
const maxDir = 103 - len("/leaderrun-4294967295/s")

// privateDir makes a directory of mode 0700 for a socket. It is not in
// $XDG_RUNTIME_DIR, which is taken away with the user's last session: a job that
// was started with nohup lives on.
func privateDir() (string, error) {
	if base := os.TempDir(); filepath.IsAbs(base) && len(base) <= maxDir {
		if dir, err := os.MkdirTemp(base, "leaderrun-"); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("/tmp", "leaderrun-")
}

func listen(path string) (*os.File, error) {
	fd, err := stream()
	if err != nil {
		return nil, err
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	if err == nil {
		err = unix.Chmod(path, 0o600)
	}
	if err == nil {
		err = unix.Listen(fd, 64)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (s *Server) accept(answer func() Answer) {
	conn, err := s.file.SyscallConn()
	if err != nil {
		return
	}
	for {
		var client int
		var failed error
		err := conn.Read(func(fd uintptr) bool {
			client, failed = acceptOne(int(fd))
			return !errors.Is(failed, unix.EAGAIN)
		})
		switch {
		case err != nil: // closed
			return
		case failed == nil:
			a := answer()
			a.Outside = outside(client)
			tell(client, a)
		default: // no descriptor is free, or the like; the client stays in the backlog
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// acceptOne accepts a client, whose descriptor no process gets that is started
// meanwhile.
func acceptOne(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	client, _, err := unix.Accept(fd)
	if err == nil {
		unix.CloseOnExec(client)
	}
	return client, err
}

// tell sends one answer, and does not block: the line fits into the socket's
// buffer. A client for which it does not gets half a line, which is no answer.
func tell(client int, a Answer) {
	if unix.SetNonblock(client, true) == nil {
		_, _ = unix.Write(client, encode(a)) // a client that went away asked for nothing
	}
	_ = unix.Close(client)
}

// Ask asks the server at path; it blocks for at most the given time in each of
// connecting and reading.
func Ask(path string, limit time.Duration) (Answer, error) {
	fd, err := connect(path, limit)
	if err != nil {
		return Answer{}, &os.PathError{Op: "connect", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(limit))
	return read(f)
}

// connect returns a connection for reading, which does not block.
func connect(path string, limit time.Duration) (int, error) {
	fd, err := stream()
	if err != nil {
		return 0, err
	}
	tv := unix.NsecToTimeval(limit.Nanoseconds())
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
	for {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		if !errors.Is(err, unix.EINTR) { // a signal while the backlog is full
			break
		}
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = unix.Close(fd)
		return 0, err
	}
	return fd, nil
}

func stream() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	return fd, err
}
