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

// This file does without package net, which would be an eighth of the core's size.

// A Server answers on one socket.
type Server struct {
	dir  string
	file *os.File
	done sync.WaitGroup
}

// Serve starts a server, which calls answer for each client until Close.
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

// Path returns the path of the socket.
func (s *Server) Path() string { return filepath.Join(s.dir, "s") }

// Files returns the files that Close removes, in that order.
func (s *Server) Files() []string { return []string{s.Path(), s.dir} }

// Close ends the server, and removes the socket and its directory.
func (s *Server) Close() error {
	_ = s.file.Close() // nothing was written to it
	s.done.Wait()
	return s.remove()
}

// remove removes the socket and its directory directly. Only if the job has tampered with
// them, it uses the slower os.RemoveAll.
func (s *Server) remove() error {
	if unix.Unlink(s.Path()) == nil && unix.Rmdir(s.dir) == nil {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// maxDir is the maximum length of the directory in which privateDir makes another, in
// bytes. On some systems the path of a socket has at most 103 bytes.
const maxDir = 103 - len("/leaderrun-4294967295/s")

// privateDir makes a directory of mode 0700 for a socket. It does not use
// $XDG_RUNTIME_DIR, which is removed with the user's last session, because a job that was
// started with nohup outlives the session.
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
			send(client, a)
		default: // no descriptor is free, for example; the client stays in the backlog
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// acceptOne accepts a client. No process that is started meanwhile inherits the client's
// descriptor.
func acceptOne(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	client, _, err := unix.Accept(fd)
	if err == nil {
		unix.CloseOnExec(client)
	}
	return client, err
}

// send sends one answer. It does not block, because the line fits into the socket's buffer.
// If it does not fit, the client gets part of a line, which is not a valid answer.
func send(client int, a Answer) {
	if unix.SetNonblock(client, true) == nil {
		_, _ = unix.Write(client, encode(a)) // the client may have gone
	}
	_ = unix.Close(client)
}

// Ask asks the server at path. It blocks for at most limit to connect, and for at most
// limit to read.
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

// connect returns a connection to read from, in non-blocking mode.
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
