package socket

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// most is how many clients a server listens to at once; the others wait.
const most = 16

// patience is how long a client may take to ask, and to read the answer.
const patience = time.Second

// A Server answers on its sockets.
type Server struct {
	answer    func() Answer
	key       []byte
	dir       string // of the socket with a path; "": there is none
	sockets   []string
	listeners []socket
	end       context.CancelFunc // of all connections
	done      sync.WaitGroup
}

// Serve starts a server, which calls answer for each client until Close.
func Serve(answer func() Answer) (*Server, error) {
	s := &Server{answer: answer, key: make([]byte, 32)}
	_, _ = rand.Read(s.key) // never fails
	if err := s.listen(); err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, s.end = context.WithCancel(context.Background())
	clients := make(chan struct{}, most)
	for _, l := range s.listeners {
		s.done.Go(func() { s.serve(ctx, l, clients) })
	}
	return s, nil
}

// Address returns what names the server in LEADERRUN_SOCKET; see [Join]. It contains a secret.
func (s *Server) Address() string { return address(s.key, s.sockets) }

// Files returns the files that Close removes, in that order.
func (s *Server) Files() []string {
	if s.dir == "" {
		return nil
	}
	return []string{s.path(), s.dir}
}

func (s *Server) path() string { return filepath.Join(s.dir, "s") }

// Close ends the server, and removes the socket and its directory.
func (s *Server) Close() error {
	for _, l := range s.listeners {
		_ = l.Close() // nothing was written to it
	}
	s.end()
	s.done.Wait()
	if s.dir == "" || os.Remove(s.path()) == nil && os.Remove(s.dir) == nil {
		return nil
	}
	return os.RemoveAll(s.dir) // the job has tampered with it
}

func (s *Server) serve(ctx context.Context, l socket, clients chan struct{}) {
	for {
		client, err := l.accept()
		if err != nil {
			return
		}
		clients <- struct{}{}
		s.done.Go(func() {
			s.talk(ctx, client)
			<-clients
		})
	}
}

// talk answers one client.
func (s *Server) talk(ctx context.Context, client *os.File) {
	hangUp := func() { _ = client.Close() }
	defer hangUp()
	defer context.AfterFunc(ctx, hangUp)()
	_ = client.SetDeadline(time.Now().Add(patience))
	var nonce [nonceSize]byte
	if _, err := io.ReadFull(client, nonce[:]); err == nil {
		_, _ = client.Write(prove(s.key, nonce[:], encode(s.answer())))
	}
}
