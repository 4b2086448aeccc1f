package tlsfiles

import (
	"errors"
	"net"
	"time"
)

// alertTimeout bounds the reading of an alert that has already arrived.
const alertTimeout = 100 * time.Millisecond

// Alert returns the TLS alert with which a server has ended a connection, or err if there
// is none. err is the error of a write. In TLS 1.3 a server refuses a client's certificate
// after the handshake is complete for the client: it sends an alert and closes the
// connection, and a client that is writing at that moment sees only a broken pipe. TLS keeps
// an alert, so it does not matter who reads it first.
func Alert(c net.Conn, err error) error {
	_ = c.SetReadDeadline(time.Now().Add(alertTimeout))
	_, alert := c.Read(make([]byte, 1))
	if op, ok := errors.AsType[*net.OpError](alert); ok && op.Op == "remote error" { // crypto/tls's name for an alert
		return alert
	}
	return err
}
