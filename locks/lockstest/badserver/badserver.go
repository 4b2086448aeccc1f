// Package badserver has servers that do not keep to their protocols. Whatever a server says,
// it must not make a client use much memory, or miss a deadline. This is a package of its own
// because few backends need it.
package badserver

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// An Answer serves one connection. Its errors do not matter: the client has closed the
// connection.
type Answer func(c net.Conn)

// Start starts a server that lives as long as the test, and returns its address.
func Start(tb testing.TB, answer Answer) (addr string) {
	tb.Helper()
	l := listen(tb)
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() {
				defer c.Close()
				answer(c)
			}()
		}
	}()
	return l.Addr().String()
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// forever writes b until the client closes the connection.
func forever(w io.Writer, b []byte) {
	b = bytes.Repeat(b, 1+64<<10/len(b))
	for {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

// HTTP answers each request with the beginning of an answer, and then with more without end.
func HTTP(begin, more string) Answer {
	return func(c net.Conn) {
		if _, err := c.Read(make([]byte, 64<<10)); err == nil {
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\n" + begin))
			forever(c, []byte(more))
		}
	}
}

// GRPC starts a server that answers each request of gRPC with a message without end, and
// returns its address. It declares a length of size bytes.
func GRPC(tb testing.TB, size uint32) (addr string) {
	tb.Helper()
	return h2(tb, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		_, _ = w.Write(binary.BigEndian.AppendUint32([]byte{0}, size))
		forever(w, make([]byte, 1))
	})
}

// Redirect starts a server of HTTP/2 that sends each request to another server, and
// returns its address.
func Redirect(tb testing.TB, to string) (addr string) {
	tb.Helper()
	return h2(tb, RedirectHandler(to))
}

// RedirectHandler sends each request to another server, with a status that keeps method
// and body.
func RedirectHandler(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to+r.URL.Path, http.StatusTemporaryRedirect)
	}
}

// h2 starts a server that also speaks HTTP/2 without TLS, and returns its address.
func h2(tb testing.TB, h http.HandlerFunc) (addr string) {
	tb.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: h, Protocols: protocols}
	l := listen(tb)
	go func() { _ = s.Serve(l) }()
	tb.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

// message returns a message of PostgreSQL.
func message(kind byte, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
}

// PostgresLogin asks for the password by a method of the protocol, with a salt if that is MD5,
// reports the answer, and refuses it.
func PostgresLogin(method byte, got func(answer string)) Answer {
	return func(c net.Conn) {
		buf := make([]byte, 64<<10)
		_, _ = c.Read(buf)
		_, _ = c.Write(message('R', append([]byte{0, 0, 0, method}, make([]byte, int(method-3)*2)...)))
		n, err := c.Read(buf)
		if err != nil || n < 5 {
			return
		}
		got(string(buf[5:n]))
		_, _ = c.Write(message('E', []byte("SFATAL\x00VFATAL\x00C28P01\x00Mrefused\x00\x00")))
	}
}

// PostgresRows lets everybody in, and answers each query with rows without end.
func PostgresRows(c net.Conn) {
	buf := make([]byte, 64<<10)
	n, _ := c.Read(buf)
	if n == 8 { // may we speak TLS?
		_, _ = c.Write([]byte("N"))
		_, _ = c.Read(buf)
	}
	_, _ = c.Write(bytes.Join([][]byte{message('R', make([]byte, 4)), message('K', make([]byte, 8)), message('Z', []byte("I"))}, nil))
	if _, err := c.Read(buf); err != nil {
		return
	}
	column := append([]byte{0, 1, 'a', 0}, make([]byte, 18)...)
	_, _ = c.Write(bytes.Join([][]byte{message('1', nil), message('2', nil), message('T', column)}, nil))
	forever(c, message('D', append([]byte{0, 1, 0, 0, 0, 200}, make([]byte, 200)...)))
}

// packet returns a packet of MySQL.
func packet(n byte, body string) []byte {
	return append([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), n}, body...)
}

// mysqlGreeting is that of a server without TLS.
const mysqlGreeting = "\x0a8.0.36\x00\x01\x00\x00\x00" + "12345678\x00" + "\xff\xf7\xff\x02\x00\xff\xde\x15" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "123456789012\x00"

// MySQLPacket greets with a packet that is continued without end.
func MySQLPacket(c net.Conn) {
	for n := byte(0); ; n++ {
		if _, err := c.Write(packet(n, strings.Repeat("A", 1<<24-1))); err != nil {
			return
		}
	}
}

// MySQLKey wants the password, encrypted with its own key, and reports what it has decrypted.
func MySQLKey(key *rsa.PrivateKey, public []byte, got func(password string)) Answer {
	const seed = "12345678123456789012"
	return func(c net.Conn) {
		buf := make([]byte, 64<<10)
		_, _ = c.Write(packet(0, strings.Replace(mysqlGreeting, "\xff\xf7", "\xff\xf6", 1)+"caching_sha2_password\x00"))
		_, _ = c.Read(buf)
		_, _ = c.Write(packet(2, "\x01\x04")) // the whole login
		n, err := c.Read(buf)
		next := byte(4)
		if n == 5 && buf[4] == 2 { // what is the key?
			_, _ = c.Write(packet(next, "\x01"+string(public)))
			n, err = c.Read(buf)
			next += 2
		}
		if err != nil || n < 4 {
			return
		}
		text, err := rsa.DecryptOAEP(sha1.New(), nil, key, buf[4:n], nil)
		if err == nil {
			for i := range text {
				text[i] ^= seed[i%len(seed)]
			}
			got(strings.TrimRight(string(text), "\x00"))
		}
		_, _ = c.Write(packet(next, "\xff\x15\x04#28000Access denied"))
	}
}

// MySQLRows lets everybody in, and answers each query with rows without end.
func MySQLRows(c net.Conn) {
	buf := make([]byte, 64<<10)
	_, _ = c.Write(packet(0, strings.Replace(mysqlGreeting, "\xff\xf7", "\xff\xf6", 1)+"mysql_native_password\x00"))
	_, _ = c.Read(buf)
	_, _ = c.Write(packet(2, "\x00\x00\x00\x02\x00\x00\x00"))
	if _, err := c.Read(buf); err != nil {
		return
	}
	column := "\x03def\x00\x00\x00\x01a\x00\x0c\x3f\x00\xff\x00\x00\x00\xfd\x00\x00\x00\x00\x00"
	_, _ = c.Write(bytes.Join([][]byte{packet(1, "\x01"), packet(2, column), packet(3, "\xfe\x00\x00\x02\x00")}, nil))
	var rows []byte
	for n := range 256 { // their numbers begin anew after 255
		rows = append(rows, packet(byte(4+n), "\xc8"+strings.Repeat("A", 200))...)
	}
	forever(c, rows)
}

// ZooKeeper grants a session, and answers each request with a body.
func ZooKeeper(body ...byte) Answer {
	return func(c net.Conn) {
		buf := make([]byte, 64<<10)
		_, _ = c.Read(buf)
		session := binary.BigEndian.AppendUint32(nil, 37)
		session = append(session, 0, 0, 0, 0, 0, 0, 39, 16, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 16)
		_, _ = c.Write(append(session, make([]byte, 17)...))
		for {
			if _, err := io.ReadFull(c, buf[:8]); err != nil {
				return
			}
			rest := int64(binary.BigEndian.Uint32(buf)) - 4
			if _, err := io.CopyN(io.Discard, c, rest); err != nil {
				return
			}
			answer := binary.BigEndian.AppendUint32(nil, uint32(16+len(body)))
			answer = append(answer, buf[4:8]...)        // which request it answers
			answer = append(answer, make([]byte, 7)...) //
			answer = append(answer, 5, 0, 0, 0, 0)      // the transaction, and no error
			_, _ = c.Write(append(answer, body...))
		}
	}
}
