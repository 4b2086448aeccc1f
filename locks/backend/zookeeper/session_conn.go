package zookeeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Numbers of ZooKeeper's protocol that the library does not export.
const (
	opGetData      = 4
	opGetACL       = 6
	opGetChildren  = 8
	opPing         = 11
	opGetChildren2 = 12
	opCloseSession = -11
	xidEvent       = -1
	xidPing        = -2
)

const (
	// maxResponse is the longest answer that is read, in bytes: a list of some 300,000
	// contenders. Servers do not limit what they send.
	maxResponse = 16 << 20
	// usualResponse is how many bytes the library allocates for each connection.
	usualResponse = 16 << 10
	// maxRequest is the longest request, in bytes. The library also allocates that much.
	maxRequest = 128 << 10
)

// leastSizes are the requests whose answers begin with a number of elements, and the length
// of the shortest such element, in bytes. The library allocates that number of elements
// before it looks whether they are there.
var leastSizes = map[int32]uint64{opGetData: 1, opGetACL: 12, opGetChildren: 4, opGetChildren2: 4}

var (
	errWithheld = errors.New("leaderrun itself closes sessions")
	// errTooLong is final: another attempt would meet the same answer.
	errTooLong = fmt.Errorf("an answer of the server (the list of contenders, or the record of the first) is longer than %d MiB", maxResponse>>20)
	errTooFew  = errors.New("an answer of the server announces more elements than it has")
)

// A sessionConn is a connection for the library that already has the session. Only our
// requests keep the session alive, because it drops the library's pings. When it breaks,
// all watches fire. Otherwise the library would restore them from the number of a
// transaction that it may have changed meanwhile (a race in the library); and the watched
// nodes have to be read again in any case.
type sessionConn struct {
	net.Conn
	at        endpoint
	connector *connector

	taken  bool   // the library has sent its connect request
	begun  bool   // the library reads packets
	rest   []byte // read from the server, and not yet by the library
	broken error  // why no more can be read

	counted sync.Map // the numbers of the requests in leastSizes that are not answered, and the sizes there
}

// newSessionConn returns a sessionConn for a connection, with the answer to its connect
// request.
func newSessionConn(conn net.Conn, at endpoint, l *connector, answer []byte) *sessionConn {
	return &sessionConn{Conn: conn, at: at, connector: l, rest: answer}
}

// Write sends one packet. The library writes each with one call. The first is
// its connect request, which was already sent and answered.
func (w *sessionConn) Write(p []byte) (int, error) {
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
		if size := leastSizes[op]; size > 0 {
			w.counted.Store(xid, size)
		}
	}
	if _, err := w.Conn.Write(p); err != nil {
		// The library learns of this when it reads. If Write returned the error just as the
		// library is closed, the request would get three answers with room for two: the
		// library would wait forever, with a lock held.
		_ = w.Conn.Close()
	}
	return len(p), nil
}

// Read returns what the server sent, in whole packets, so that events for all watches can
// follow when the connection ends.
func (w *sessionConn) Read(p []byte) (int, error) {
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
func (w *sessionConn) next() {
	if !w.begun { // the library has now allocated its buffer of usualResponse bytes
		w.begun = true
		w.connector.limit(maxResponse)
	}
	p, zxid, err := readPacket(w.Conn)
	if err == nil {
		err = w.checkCount(p)
	}
	if err == nil {
		w.connector.noteTransaction(zxid)
		clear(p[8:16]) // the zxid, which the library reads and writes in two goroutines without a lock
		w.rest = p
		return
	}
	if errors.Is(err, errTooLong) || errors.Is(err, errTooFew) {
		w.connector.end(err)
	}
	w.broken, w.rest = err, w.connector.allWatchEvents()
}

// checkCount returns an error if an answer cannot have as many elements as it announces.
func (w *sessionConn) checkCount(p []byte) error {
	const head = 20
	xid, code := outcome(p)
	size, ok := w.counted.LoadAndDelete(xid)
	if !ok || code != 0 || len(p) < head+4 {
		return nil
	}
	n := binary.BigEndian.Uint32(p[head:])
	if none := n == 1<<32-1; !none && uint64(n)*size.(uint64) > uint64(len(p)-head-4) { //nolint:forcetypeassert // Write stores no others
		return errTooFew
	}
	return nil
}

// Close ends the connection, but not the session.
func (w *sessionConn) Close() error {
	w.connector.dropped(w)
	return w.Conn.Close()
}
