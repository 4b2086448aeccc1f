package postgres

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// A server decides how the password is sent, and if TLS is not required, anybody who answers
// can ask for the word itself. libpq and the driver send it; we say so when that happens.

// A clearWriter passes on what is written, and notes that this is a password in clear text.
type clearWriter struct {
	io.Writer
	message []byte // with the password
	sent    func()
}

// Write is called with whole messages: so is the driver's buffer flushed.
func (w *clearWriter) Write(p []byte) (int, error) {
	if bytes.Equal(p, w.message) {
		w.sent()
	}
	return w.Writer.Write(p)
}

// watchPassword makes connections of a configuration call sent before a password goes over a
// network in clear text.
func watchPassword(c *pgconn.Config, sent func(addr string)) {
	message := binary.BigEndian.AppendUint32([]byte("p"), uint32(len(c.Password)+5))
	message = append(append(message, c.Password...), 0)
	c.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		if conn, ok := w.(net.Conn); ok && c.Password != "" && exposed(conn) {
			w = &clearWriter{w, message, func() { sent(conn.RemoteAddr().String()) }}
		}
		return pgproto3.NewFrontend(r, w)
	}
}

// exposed reports whether others may read what is sent on a connection.
func exposed(c net.Conn) bool {
	_, encrypted := c.(*tls.Conn)
	return !encrypted && c.RemoteAddr().Network() != "unix" && !hosts.Local(c.RemoteAddr().String())
}

// checkPasswordFile returns an error if the password comes from a file that others can read or
// write. libpq ignores such a file, with a warning; the driver does not look.
func (s *settings) checkPasswordFile(c *pgconn.Config) error {
	info, err := os.Stat(s.passfile)
	if err != nil || info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	without, err := pgconn.ParseConfig(s.withoutPassfile)
	if err != nil || without.Password == c.Password {
		return nil // it comes from elsewhere
	}
	return fmt.Errorf("other users have access to the password file %s: run chmod 600 %[1]s", locks.Printable(s.passfile))
}

// passwordFile returns the file where psql looks for passwords.
func passwordFile(u *url.URL) string {
	home, _ := os.UserHomeDir()
	return cmp.Or(u.Query().Get("passfile"), os.Getenv("PGPASSFILE"), filepath.Join(home, ".pgpass"))
}
