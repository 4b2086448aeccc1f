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

	"github.com/leaderrun/leaderrun/locks/kit/tlsfiles"
)

// This file has the part of ZooKeeper's protocol that the library lacks: resuming a
// session, reading what was granted, and closing a session reliably. Each packet begins
// with its length.

// connectResponses have a length within these bounds, in bytes; newer servers
// append a flag.
const (
	minConnectResponse = 36
	maxConnectResponse = 64
)

// A sessionInfo is what a server says about a session, and what resumes the session.
type sessionInfo struct {
	id      int64         // 0: the session does not exist
	timeout time.Duration // as granted; in a request, as requested
	passwd  [16]byte
}

// connectRequest requests the session t, or a new one if its id is 0, from a server
// that knows all transactions up to zxid.
func connectRequest(t *sessionInfo, zxid int64) []byte {
	b := binary.BigEndian.AppendUint32(nil, 0) // the protocol's version
	b = binary.BigEndian.AppendUint64(b, uint64(zxid))
	b = binary.BigEndian.AppendUint32(b, uint32((t.timeout+time.Millisecond-1)/time.Millisecond))
	b = binary.BigEndian.AppendUint64(b, uint64(t.id))
	b = binary.BigEndian.AppendUint32(b, uint32(len(t.passwd)))
	b = append(b, t.passwd[:]...)
	return packet(append(b, 0)) // a read-only server must refuse
}

// readConnectResponse reads the answer, and also returns the packet.
func readConnectResponse(r io.Reader) (*sessionInfo, []byte, error) {
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
	t := &sessionInfo{
		timeout: time.Duration(int32(binary.BigEndian.Uint32(body[4:]))) * time.Millisecond,
		id:      int64(binary.BigEndian.Uint64(body[8:])),
	}
	if size := binary.BigEndian.Uint32(body[16:]); size != 16 || t.id != 0 && t.timeout <= 0 {
		return nil, nil, notZooKeeperError(head)
	}
	copy(t.passwd[:], body[20:])
	return t, raw, nil
}

// resume requests a session on a new connection.
func resume(conn net.Conn, t *sessionInfo, zxid int64) (*sessionInfo, []byte, error) {
	if _, err := conn.Write(connectRequest(t, zxid)); err != nil {
		return nil, nil, atOnce(tlsfiles.Alert(conn, err))
	}
	return readConnectResponse(conn)
}

// readPacket reads an answer or an event, whatever its length, and returns it with the
// last transaction that it reports.
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
	if _, err := io.CopyN(b, r, n-16); err != nil { // b grows with the data that arrives
		return nil, 0, err
	}
	return b.Bytes(), int64(binary.BigEndian.Uint64(head[8:])), nil
}

// outcome returns the number of the request that a packet answers, and the code
// of its error, or 0 if it succeeded.
func outcome(p []byte) (xid, code int32) {
	return int32(binary.BigEndian.Uint32(p[4:])), int32(binary.BigEndian.Uint32(p[16:]))
}

// watchEvent returns the packet that a server sends when a watched node has changed.
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

// A notZooKeeperError says that something else answered. It has the first bytes of the
// answer.
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

// errNotServing is what happens with a server without a quorum, one that lags behind what
// we have seen, or one with too many connections.
var errNotServing = errors.New("the server closed the connection at once")

func atOnce(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return errNotServing
	}
	return err
}
