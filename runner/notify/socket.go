package notify

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A socket sends datagrams to one address. It does without package net, which would be an
// eighth of the core's size.
type socket struct {
	fd int
	to unix.SockaddrUnix
}

// open makes a socket that sends to a path, or to an abstract name ("@name"). It does not
// connect, because a manager that restarts binds the address again.
func open(address string) (*socket, error) {
	if address[0] != '/' && address[0] != '@' {
		return nil, &os.PathError{Op: "connect", Path: address, Err: unix.EAFNOSUPPORT}
	}
	syscall.ForkLock.RLock() // no process that is started meanwhile may inherit it
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	return &socket{fd, unix.SockaddrUnix{Name: address}}, nil
}

func (s *socket) send(message []byte) error {
	err := unix.Sendto(s.fd, message, 0, &s.to)
	for errors.Is(err, unix.EINTR) {
		err = unix.Sendto(s.fd, message, 0, &s.to)
	}
	if err != nil {
		return &os.PathError{Op: "send", Path: s.to.Name, Err: err}
	}
	return nil
}

func (s *socket) close() { _ = unix.Close(s.fd) }

// isFull reports whether there is no room now, although there may be later.
func isFull(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOBUFS)
}
