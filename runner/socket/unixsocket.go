package socket

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/program/trust"
)

// This file does without package net, which would be an eighth of the core's size.

// listen makes a socket with a path and, on Linux, one with an abstract name. One is enough.
func (s *Server) listen() error {
	err := s.listenAtPath()
	if hasAbstract {
		var random [16]byte
		_, _ = rand.Read(random[:]) // never fails
		if s.add("@leaderrun-"+hex.EncodeToString(random[:])) == nil {
			return nil
		}
	}
	return err
}

// maxDir is the maximum length of the directory in which listenIn makes another, in bytes. On
// some systems the path of a socket has at most 103 bytes.
const maxDir = 103 - len("/leaderrun-4294967295/s")

// listenAtPath makes a socket in a directory of its own. It does not use $XDG_RUNTIME_DIR,
// which is removed with the user's last session, because a job that was started with nohup
// outlives the session. Nor does it use a directory in which other users can replace what is ours.
func (s *Server) listenAtPath() (first error) {
	for _, base := range []string{os.TempDir(), "/tmp", "/run", "/dev/shm"} {
		if !filepath.IsAbs(base) || len(base) > maxDir || strings.Contains(base, ",") {
			continue
		}
		err := s.listenIn(base)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (s *Server) listenIn(base string) error {
	dir, err := os.MkdirTemp(base, "leaderrun-")
	if err != nil {
		return err
	}
	s.dir = dir
	// Who could replace the directory by a link could have us change the mode of any file.
	if _, err = trust.Dir(dir); err == nil {
		err = unix.Chmod(dir, dirMode)
	}
	if err == nil {
		err = s.add(s.path())
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		s.dir = ""
	}
	return err
}

// add begins to listen at a socket.
func (s *Server) add(name string) error {
	fd, err := stream()
	if err != nil {
		return err
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: name})
	if err == nil && name[0] != '@' {
		err = unix.Chmod(name, socketMode)
	}
	if err == nil {
		err = unix.Listen(fd, 64)
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = unix.Close(fd)
		return &os.PathError{Op: "listen", Path: name, Err: err}
	}
	s.sockets = append(s.sockets, name)
	s.listeners = append(s.listeners, socket{os.NewFile(uintptr(fd), name)})
	return nil
}

// A socket is one at which we listen.
type socket struct{ *os.File }

// accept returns the next client that is not a stranger. An error is final.
func (s socket) accept() (*os.File, error) {
	conn, err := s.SyscallConn()
	if err != nil {
		return nil, err
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
			return nil, err
		case failed != nil: // no descriptor is free, for example; the client stays in the backlog
			time.Sleep(10 * time.Millisecond)
		case outside(client):
			_, _ = unix.Write(client, encode(Answer{Outside: true})) // fits into the buffer
			_ = unix.Close(client)
		default:
			return os.NewFile(uintptr(client), s.Name()), nil
		}
	}
}

// acceptOne accepts a client, in non-blocking mode. No process that is started meanwhile
// inherits the client's descriptor.
func acceptOne(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	client, _, err := unix.Accept(fd)
	if err != nil {
		return 0, err
	}
	unix.CloseOnExec(client)
	return client, unix.SetNonblock(client, true) // cannot fail
}

// dial returns a connection. It blocks for at most limit.
func dial(name string, limit time.Duration) (*os.File, error) {
	if limit < time.Millisecond { // the kernel takes 0 for no limit
		return nil, os.ErrDeadlineExceeded
	}
	fd, err := stream()
	if err != nil {
		return nil, err
	}
	tv := unix.NsecToTimeval(limit.Nanoseconds())
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
	for {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: name})
		if !errors.Is(err, unix.EINTR) { // a signal while the backlog is full
			break
		}
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
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
