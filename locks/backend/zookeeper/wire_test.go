package zookeeper

import (
	"net"
	"testing"
)

// A write that fails is for the reader to tell of.
func TestWriteThatFails(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	w := newWire(ours, endpoint{}, newLink(&settings{servers: []string{"a"}}, 0, 0, nil), nil)
	w.taken, w.begun = true, true
	_ = theirs.Close()
	if n, err := w.Write(make([]byte, 20)); n != 20 || err != nil {
		t.Errorf("got %d, %v; want 20 bytes and no error", n, err)
	}
	if n, err := w.Read(make([]byte, 20)); err == nil {
		t.Errorf("read %d bytes; want an error", n)
	}
}
