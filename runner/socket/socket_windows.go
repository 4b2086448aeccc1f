package socket

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Server answers on one socket.
type Server struct {
	dir      string
	listener net.Listener
	done     sync.WaitGroup
}

// Serve starts a server, which calls answer for each client until Close.
func Serve(answer func() Answer) (*Server, error) {
	dir, err := os.MkdirTemp("", "leaderrun-") // private by its parent's access list
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if s.listener, err = net.Listen("unix", s.Path()); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
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
	_ = s.listener.Close()
	s.done.Wait()
	return os.RemoveAll(s.dir)
}

func (s *Server) accept(answer func() Answer) {
	for {
		client, err := s.listener.Accept()
		if err != nil {
			return
		}
		_ = client.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = client.Write(encode(answer())) // the client may have gone
		_ = client.Close()
	}
}

// Ask asks the server at path. It blocks for at most limit to connect, and for at most
// limit to read.
func Ask(path string, limit time.Duration) (Answer, error) {
	conn, err := net.DialTimeout("unix", path, limit)
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(limit))
	return read(conn)
}
