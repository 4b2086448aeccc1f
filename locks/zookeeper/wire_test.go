package zookeeper

import (
	"encoding/binary"
	"net"
	"testing"
)

// TestZxidIsKeptFromTheLibrary, which has a race over it, and known to us.
func TestZxidIsKeptFromTheLibrary(t *testing.T) {
	t.Parallel()
	client, server := net.Pipe()
	defer client.Close()
	const zxid = 7
	answer := binary.BigEndian.AppendUint32(nil, 1)
	answer = binary.BigEndian.AppendUint64(answer, zxid)
	go func() {
		defer server.Close()
		_, _ = server.Write(packet(binary.BigEndian.AppendUint32(answer, 0)))
	}()
	l := new(link)
	w := newWire(client, l, nil)
	w.begun = true // there is no library here
	p, _, err := readPacket(w)
	if err != nil {
		t.Fatal(err)
	}
	if got := binary.BigEndian.Uint64(p[8:]); got != 0 || l.zxid != zxid {
		t.Errorf("the library sees the zxid %d and we %d; want 0 and %d", got, l.zxid, zxid)
	}
}
