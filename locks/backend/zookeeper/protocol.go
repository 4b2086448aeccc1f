package zookeeper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
)

// What follows is as much of ZooKeeper's protocol as it takes to do what the
// library cannot: to resume a session, to know what was granted, and to close a
// session for sure. Each packet has its length before it.

// connectResponses have a length within these bounds, in bytes; newer servers
// append a flag.
const (
	minConnectResponse = 36
	maxConnectResponse = 64
)

// A ticket is what a server says about a session, and what resumes it.
type ticket struct {
	id      int64         // 0: there is no such session (any more)
	timeout time.Duration // as granted; in a request, as asked for
	passwd  [16]byte
}

// connectRequest asks for the session of a ticket, or a new one, from a server
// that knows all transactions up to zxid.
func connectRequest(t *ticket, zxid int64) []byte {
	b := binary.BigEndian.AppendUint32(nil, 0) // the protocol's version
	b = binary.BigEndian.AppendUint64(b, uint64(zxid))
	b = binary.BigEndian.AppendUint32(b, uint32((t.timeout+time.Millisecond-1)/time.Millisecond))
	b = binary.BigEndian.AppendUint64(b, uint64(t.id))
	b = binary.BigEndian.AppendUint32(b, uint32(len(t.passwd)))
	b = append(b, t.passwd[:]...)
	return packet(append(b, 0)) // a server that can only read will not do
}

// readConnectResponse reads the answer, and returns the packet as it is, too.
func readConnectResponse(r io.Reader) (*ticket, []byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, nil, atOnce(err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < minConnectResponse || n > maxConnectResponse {
		return nil, nil, notZooKeeperError(head)
	}
	raw := append(head[:], make([]byte, n)...)
	body := raw[4:]
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, nil, atOnce(err)
	}
	t := &ticket{
		timeout: time.Duration(int32(binary.BigEndian.Uint32(body[4:]))) * time.Millisecond,
		id:      int64(binary.BigEndian.Uint64(body[8:])),
	}
	if size := binary.BigEndian.Uint32(body[16:]); size != 16 || t.id != 0 && t.timeout <= 0 {
		return nil, nil, notZooKeeperError(head)
	}
	copy(t.passwd[:], body[20:])
	return t, raw, nil
}

// resume asks for a session on a fresh connection.
func resume(conn net.Conn, t *ticket, zxid int64) (*ticket, []byte, error) {
	if _, err := conn.Write(connectRequest(t, zxid)); err != nil {
		return nil, nil, atOnce(alert(conn, err))
	}
	return readConnectResponse(conn)
}

// readPacket reads an answer or an event, of whatever length the server says
// that it has, and returns the last transaction that it tells of.
func readPacket(r io.Reader) (p []byte, zxid int64, err error) {
	var head [20]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, 0, err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	switch {
	case n > maxResponse:
		return nil, 0, errTooLong
	case n < 16:
		return nil, 0, errors.New("a packet of less than a header")
	}
	b := bytes.NewBuffer(head[:])
	if _, err := io.CopyN(b, r, n-16); err != nil { // it grows with what has come
		return nil, 0, err
	}
	return b.Bytes(), int64(binary.BigEndian.Uint64(head[8:])), nil
}

// outcome returns the number of the request that a packet answers, and the code
// of its error; 0: it succeeded.
func outcome(p []byte) (xid, code int32) {
	return int32(binary.BigEndian.Uint32(p[4:])), int32(binary.BigEndian.Uint32(p[16:]))
}

// watchEvent is what a server sends when what is watched has changed.
func watchEvent(path string, event zk.EventType) []byte {
	b := binary.BigEndian.AppendUint32(nil, 1<<32-1) // the xid of events
	b = binary.BigEndian.AppendUint64(b, 1<<64-1)    // no zxid
	b = binary.BigEndian.AppendUint32(b, 0)          // no error
	b = binary.BigEndian.AppendUint32(b, uint32(event))
	b = binary.BigEndian.AppendUint32(b, uint32(zk.StateSyncConnected))
	b = binary.BigEndian.AppendUint32(b, uint32(len(path)))
	return packet(append(b, path...))
}

func packet(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// A notZooKeeperError is about what answered instead, by its first bytes.
type notZooKeeperError [4]byte

func (e notZooKeeperError) Error() string {
	switch {
	case string(e[:]) == "HTTP":
		return "an HTTP server answered, not ZooKeeper"
	case e[0] == 0x15 && e[1] == 3: // an alert: RFC 8446, section 5.1
		return "a TLS server answered"
	}
	return "something that is not ZooKeeper answered"
}

// errNotServing is what a server without a quorum, one that lags behind what we
// have seen, or one with too many connections does.
var errNotServing = errors.New("the server closed the connection at once")

func atOnce(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return errNotServing
	}
	return err
}
