package zktest

import (
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	session = 30 * time.Second
	// answer bounds the wait for the answer to a connect request. A server that is just
	// starting may accept a connection and never answer. The library would wait 200 s, ten
	// times as long as for anything else.
	answer = 5 * time.Second
)

// Client returns an operator's client of a server without TLS. The caller closes it.
func (s *Server) Client() *zk.Conn {
	s.TB.Helper()
	conn, _, err := zk.Connect([]string{s.Addr()}, session, zk.WithLogger(silent{}), zk.WithDialer(dial))
	if err != nil {
		s.TB.Fatal(err)
	}
	return conn
}

func dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	return impatient{conn}, err
}

// An impatient connection does not wait longer than answer for an answer for which the
// library would wait longer than the session lasts.
type impatient struct{ net.Conn }

func (c impatient) SetReadDeadline(t time.Time) error {
	if time.Until(t) > session {
		t = time.Now().Add(answer)
	}
	return c.Conn.SetReadDeadline(t)
}

type silent struct{}

func (silent) Printf(string, ...any) {}
