package zookeeper

import (
	"bytes"
	"errors"
	"math"
	"net"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
)

// TestQueueNodes checks that nodes are ordered by the servers' numbers, whatever their
// GUIDs.
func TestQueueNodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ names, want []string }{
		{nil, nil},
		{[]string{"A-n_0000000002", "Z-n_0000000001"}, []string{"Z-n_0000000001", "A-n_0000000002"}},
		{[]string{"a-n_0000000010", "b-n_0000000009"}, []string{"b-n_0000000009", "a-n_0000000010"}},
		{[]string{"a-n_0000000000", "b-n_2147483647", "c-n_-2147483647"}, []string{"c-n_-2147483647", "a-n_0000000000", "b-n_2147483647"}},
		{[]string{"a-n_0000000000", "b-n_-000000001"}, []string{"b-n_-000000001", "a-n_0000000000"}},
		{[]string{"x", "-n_0000000001", "a-n_", "a-n_1x", "a-n_99999999999", "a-n_0000000003", ""}, []string{"a-n_0000000003"}},
	} {
		var got []string
		for _, p := range queueNodes(tt.names) {
			got = append(got, p.name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q; want %q", tt.names, got, tt.want)
		}
	}
}

// TestUnordered checks that numbers show the order until the last one.
func TestUnordered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		numbers []int32
		want    bool
	}{
		{nil, false},
		{[]int32{math.MaxInt32}, false},
		{[]int32{0, 1, math.MaxInt32 - 1}, false},
		{[]int32{0, math.MaxInt32}, true},
		{[]int32{math.MaxInt32, math.MaxInt32}, true},
		{[]int32{math.MinInt32, math.MaxInt32 - 1}, true},
		{[]int32{-1, 0}, true},
	} {
		var all []queueNode
		for _, n := range tt.numbers {
			all = append(all, queueNode{number: n})
		}
		if got := unordered(all); got != tt.want {
			t.Errorf("%d: got %t", tt.numbers, got)
		}
	}
}

// FuzzReadPacket checks that packets have the length that the server says.
func FuzzReadPacket(f *testing.F) {
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Add(watchEvent("/a", zk.EventNodeChildrenChanged))
	f.Add([]byte{0, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, _, err := readPacket(bytes.NewReader(data))
		if err == nil && (len(p) < 20 || !bytes.HasPrefix(data, p)) {
			t.Errorf("%q: got %q", data, p)
		}
		answer, raw, err := readConnectResponse(bytes.NewReader(data))
		if err == nil && (!bytes.HasPrefix(data, raw) || answer.id != 0 && answer.timeout <= 0) {
			t.Errorf("%q: got %+v", data, answer)
		}
	})
}

// TestLongAnswersAreRefused checks that long answers are refused before they take memory.
func TestLongAnswersAreRefused(t *testing.T) {
	t.Parallel()
	if _, _, err := readPacket(bytes.NewReader(append([]byte{0x7f, 0, 0, 0}, make([]byte, 16)...))); !errors.Is(err, errTooLong) {
		t.Errorf("got %v; want errTooLong", err)
	}
}

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
