package zookeeper

import (
	"net"
	"testing"
)

// TestWriteThatFails checks that a failed write is reported by Read, and not by Write.
func TestWriteThatFails(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	w := newSessionConn(ours, endpoint{}, newConnector(&settings{servers: []string{"a"}}, 0, 0, nil), nil)
	w.taken, w.begun = true, true
	_ = theirs.Close()
	if n, err := w.Write(make([]byte, 20)); n != 20 || err != nil {
		t.Errorf("got %d, %v; want 20 bytes and no error", n, err)
	}
	if n, err := w.Read(make([]byte, 20)); err == nil {
		t.Errorf("read %d bytes; want an error", n)
	}
}
