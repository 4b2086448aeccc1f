package socket

import (
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// listen makes a socket in a directory that is private by its parent's access list.
func (s *Server) listen() error {
	dir, err := os.MkdirTemp("", "leaderrun-")
	if err != nil {
		return err
	}
	s.dir = dir
	if strings.Contains(dir, ",") {
		err = &os.PathError{Op: "listen", Path: dir, Err: syscall.EINVAL}
	}
	var l net.Listener
	if err == nil {
		l, err = net.Listen("unix", s.path())
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return err
	}
	s.sockets, s.listeners = []string{s.path()}, []listener{socket{l}}
	return nil
}

// A socket is one at which we listen.
type socket struct{ net.Listener }

func (s socket) accept() (connection, error) { return s.Accept() }

// dial returns a connection. It blocks for at most limit.
func dial(name string, limit time.Duration) (connection, error) {
	return net.DialTimeout("unix", name, limit)
}
