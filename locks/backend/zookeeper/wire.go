package zookeeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

// The numbers of ZooKeeper's protocol that the library keeps to itself.
const (
	opPing         = 11
	opCloseSession = -11
	xidEvent       = -1
	xidPing        = -2
)

const (
	// maxResponse bounds what is read: a list of some 300,000 contenders.
	// Servers do not limit what they send.
	maxResponse = 16 << 20
	// usualResponse is what the library allocates for each connection.
	usualResponse = 16 << 10
	// maxRequest bounds what is sent. The library allocates it, too.
	maxRequest = 128 << 10
)

var (
	errWithheld = errors.New("leaderrun closes sessions by itself")
	// errTooLong is final: another attempt would meet the same answer.
	errTooLong = fmt.Errorf("an answer of the server (the list of contenders, or the record of the first) is longer than %d MiB", maxResponse>>20)
)

// A wire is one connection, which has the session already, for the library to
// use. It sees to it that nothing but what we ask for keeps the session alive:
// pings are not sent. And when it breaks, all watches fire: the library would
// restore them from a number of a transaction that it may have changed
// meanwhile (a race in it), and what is watched has to be looked at again anyway.
type wire struct {
	net.Conn
	at   endpoint
	link *link

	taken  bool   // the library has sent its connect request
	begun  bool   // the library reads packets
	rest   []byte // read, and not handed on yet
	broken error  // why nothing more can be read
}

// newWire takes a connection, and the answer to the connect request on it.
func newWire(conn net.Conn, at endpoint, l *link, answer []byte) *wire {
	return &wire{Conn: conn, at: at, link: l, rest: answer}
}

// Write sends one packet. The library writes each with one call. The first is
// its connect request, which was sent and answered already.
func (w *wire) Write(p []byte) (int, error) {
	if !w.taken {
		w.taken = true
		return len(p), nil
	}
	if len(p) >= 12 {
		xid, op := int32(binary.BigEndian.Uint32(p[4:])), int32(binary.BigEndian.Uint32(p[8:]))
		switch {
		case xid == xidPing && op == opPing:
			return len(p), nil
		case op == opCloseSession:
			return 0, errWithheld
		}
	}
	if _, err := w.Conn.Write(p); err != nil {
		// It is the reader that tells the library. A request whose write fails just
		// as the library is closed is answered three times, and there is room for
		// two answers: it would wait for ever, with a lock held.
		_ = w.Conn.Close()
	}
	return len(p), nil
}

// Read hands the library what the server sent, in whole packets: when nothing
// more comes, it can still be told that what it watches has changed.
func (w *wire) Read(p []byte) (int, error) {
	if len(w.rest) == 0 && w.broken == nil {
		w.next()
	}
	if len(w.rest) == 0 {
		return 0, w.broken
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

// next reads a packet.
func (w *wire) next() {
	if !w.begun { // the library has allocated its buffer for the usual packets
		w.begun = true
		w.link.limit(maxResponse)
	}
	p, zxid, err := readPacket(w.Conn)
	if err == nil {
		w.link.saw(zxid)
		clear(p[8:16]) // the zxid: the library reads and writes it in two goroutines without a lock
		w.rest = p
		return
	}
	if errors.Is(err, errTooLong) {
		w.link.end(err)
	}
	w.broken, w.rest = err, w.link.farewell()
}

// Close ends the connection, and not the session.
func (w *wire) Close() error {
	w.link.dropped(w)
	return w.Conn.Close()
}

// alertTimeout bounds the reading of an alert that has already arrived.
const alertTimeout = 100 * time.Millisecond

// alert looks for the reason of a failed write: in TLS 1.3 a server refuses a
// client's certificate after the handshake is complete for the client.
func alert(c net.Conn, err error) error {
	_ = c.SetReadDeadline(time.Now().Add(alertTimeout))
	_, why := c.Read(make([]byte, 1))
	if op, ok := errors.AsType[*net.OpError](why); ok && op.Op == "remote error" { // as crypto/tls calls an alert
		return why
	}
	return err
}
