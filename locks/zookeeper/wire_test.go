package zookeeper

import (
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"
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

// TestEndClosesWhatIsReady: a connection that the library has not taken yet, or
// that comes too late, is not left open.
func TestEndClosesWhatIsReady(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		client, server := net.Pipe()
		l := newLink(&settings{servers: []string{"h:1"}}, time.Second, time.Second, slog.New(slog.DiscardHandler))
		if late {
			l.end(errClosed)
		}
		if err := l.offer(t.Context(), newWire(client, l, nil)); (err != nil) != late {
			t.Errorf("late=%t: offer: %v", late, err)
		}
		l.end(errClosed)
		_ = server.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := server.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("late=%t: got %v; want EOF", late, err)
		}
	}
}
