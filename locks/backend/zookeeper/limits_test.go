package zookeeper

import (
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"
)

// limited is a server that grants sessions of at most a limit. It returns its address.
func limited(t *testing.T, most time.Duration) endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			var request [49]byte
			if _, err := io.ReadFull(conn, request[:]); err != nil {
				continue
			}
			answer := binary.BigEndian.AppendUint32(nil, 0)
			answer = binary.BigEndian.AppendUint32(answer, min(binary.BigEndian.Uint32(request[16:]), uint32(most.Milliseconds())))
			answer = binary.BigEndian.AppendUint64(answer, 7)
			answer = binary.BigEndian.AppendUint32(answer, 16)
			_, _ = conn.Write(packet(append(answer, make([]byte, 17)...)))
		}
	}()
	return endpoint{server: l.Addr().String(), addr: l.Addr().String()}
}

// TestServersOfOtherLimits: a server that grants less than the session has does not change what
// is asked of the others.
func TestServersOfOtherLimits(t *testing.T) {
	t.Parallel()
	first, lower, higher := limited(t, 9*time.Second), limited(t, 4*time.Second), limited(t, time.Minute)
	connect := func(c *connector, e endpoint) time.Duration {
		t.Helper()
		w, err := c.attempt(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		return c.session().timeout
	}
	c := newConnector(&settings{}, 15*time.Second, 10*time.Second, slog.New(slog.DiscardHandler))
	for i, tt := range []struct {
		at   endpoint
		want time.Duration
	}{{first, 9 * time.Second}, {lower, 4 * time.Second}, {first, 9 * time.Second}, {lower, 4 * time.Second}, {higher, 9 * time.Second}} {
		if got := connect(c, tt.at); got != tt.want {
			t.Errorf("connection %d: granted %v, want %v", i+1, got, tt.want)
		}
	}
	next := newConnector(&settings{}, 15*time.Second, 10*time.Second, slog.New(slog.DiscardHandler))
	next.adopt(sessionInfo{id: 7, timeout: 9 * time.Second}, 1, nil)
	for at, want := range map[endpoint]time.Duration{lower: 4 * time.Second, first: 9 * time.Second, higher: 9 * time.Second} {
		if got := connect(next, at); got != want {
			t.Errorf("a session that was adopted: granted %v, want %v", got, want)
		}
	}
}
