package bounded

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

// pair returns a Conn, and the server's side of it, which sends what is written to it.
func pair(t *testing.T) (*Conn, net.Conn) {
	t.Helper()
	server, client := net.Pipe()
	t.Cleanup(func() { _ = server.Close() })
	c := New(client)
	t.Cleanup(func() { _ = c.Close() })
	return c, server
}

// send sends n bytes, and returns how many were received.
func send(c *Conn, server net.Conn, n int64) (int64, error) {
	go func() { _, _ = io.Copy(server, bytes.NewReader(make([]byte, n))) }()
	return io.CopyN(io.Discard, c, n)
}

// TestLimit sends as much as is allowed, several times with a write in between, and then
// more.
func TestLimit(t *testing.T) {
	t.Parallel()
	c, server := pair(t)
	for range 3 {
		if _, err := send(c, server, limit); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = server.Read(make([]byte, 1)) }()
		if _, err := c.Write([]byte("?")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := send(c, server, limit); err != nil {
		t.Fatal(err)
	}
	c.Forget()
	if n, err := send(c, server, limit+1); !errors.Is(err, errTooLong) || n > limit {
		t.Errorf("received %d bytes, then %v", n, err)
	}
	if _, err := c.Conn.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the connection is still open: %v", err)
	}
}

// TestSocket checks that a driver can look at the socket.
func TestSocket(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := Dialer(new(net.Dialer).DialContext)(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(uintptr) {}); err != nil {
		t.Error(err)
	}
	none, _ := pair(t)
	if _, err := none.SyscallConn(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without a socket: %v", err)
	}
}
