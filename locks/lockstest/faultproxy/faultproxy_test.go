package faultproxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// echo is a server that sends back what it receives; got receives a copy.
func echo(t *testing.T) (addr string, got <-chan string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	lines := make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for s := bufio.NewScanner(c); s.Scan(); {
					lines <- s.Text()
					if _, err := io.WriteString(c, s.Text()+"\n"); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), lines
}

// served returns a proxy of echo, and a connection through it.
func served(t *testing.T) (p *Proxy, c net.Conn, got <-chan string) {
	addr, got := echo(t)
	p = New(t, addr)
	return p, dial(t, p), got
}

func arrives(t *testing.T, got <-chan string, want string) {
	t.Helper()
	if line := <-got; line != want {
		t.Errorf("the server got %q, want %q", line, want)
	}
}

func nothingArrives(t *testing.T, got <-chan string) {
	t.Helper()
	select {
	case line := <-got:
		t.Errorf("the server got %q", line)
	case <-time.After(50 * time.Millisecond):
	}
}

func silent(t *testing.T, c net.Conn) {
	t.Helper()
	if s, err := read(c, 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a reply came: %q, %v", s, err)
	}
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func send(t *testing.T, c net.Conn, line string) {
	t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func read(c net.Conn, d time.Duration) (string, error) {
	_ = c.SetReadDeadline(time.Now().Add(d))
	buf := make([]byte, 100)
	n, err := c.Read(buf)
	return string(buf[:n]), err
}

// exchange sends a line, and reads it back.
func exchange(t *testing.T, c net.Conn, line string) {
	t.Helper()
	send(t, c, line)
	if s, err := read(c, 5*time.Second); s != line+"\n" {
		t.Fatalf("the client got %q, %v", s, err)
	}
}

func TestForwards(t *testing.T) {
	t.Parallel()
	p, c, _ := served(t)
	exchange(t, c, "a")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := read(c, 5*time.Second); !errors.Is(err, io.EOF) {
		t.Errorf("after the client's end: %v, want EOF", err)
	}
	if got := p.Accepted(); got != 1 {
		t.Errorf("accepted %d, want 1", got)
	}
}

func TestCutReplies(t *testing.T) {
	t.Parallel()
	p, c, got := served(t)
	p.CutReplies()
	send(t, c, "a")
	arrives(t, got, "a")
	silent(t, c)
	p.Heal()
	if s, err := read(c, 5*time.Second); s != "a\n" {
		t.Errorf("after the cut: %q, %v", s, err)
	}
}

func TestCutAll(t *testing.T) {
	t.Parallel()
	p, _, got := served(t)
	p.CutAll()
	c := dial(t, p)
	send(t, c, "a")
	nothingArrives(t, got)
	p.Reset()
	p.Heal()
	if s, err := read(c, 5*time.Second); err == nil {
		t.Errorf("after a reset: %q", s)
	}
	send(t, dial(t, p), "b")
	arrives(t, got, "b") // what was held back is lost
}

func TestSilence(t *testing.T) {
	t.Parallel()
	p, old, got := served(t)
	exchange(t, old, "a")
	<-got
	p.Silence()
	p.Heal()
	send(t, old, "b")
	send(t, dial(t, p), "c")
	arrives(t, got, "c")
	silent(t, old)
}

// TestHoldNth holds back what a client sends before it gives up. It arrives in the end.
func TestHoldNth(t *testing.T) {
	t.Parallel()
	p, old, got := served(t)
	p.HoldNth(1)
	exchange(t, old, "a")
	<-got
	send(t, old, "b")
	silent(t, old)
	old.Close()
	send(t, dial(t, p), "c")
	arrives(t, got, "c")
	p.Land()
	arrives(t, got, "b")
}

// TestUnable makes one connection lead to a server that cannot serve.
func TestUnable(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	p := New(t, s.Listener.Addr().String())
	client := &http.Client{Transport: &http.Transport{}}
	ask := func() int {
		resp, err := client.Post("http://"+p.Addr(), "", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	first := ask()
	p.Unable()
	second, third := ask(), ask()
	client.CloseIdleConnections()
	if last := ask(); first != 404 || second != 503 || third != 503 || last != 404 || p.Accepted() != 2 {
		t.Errorf("answers %d, %d, %d, and %d over another of %d connections", first, second, third, last, p.Accepted())
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	p, old, _ := served(t)
	exchange(t, old, "a")
	p.Refuse()
	conns := map[string]net.Conn{"old": old}
	if c, err := net.Dial("tcp", p.Addr()); err == nil { // otherwise it has already been reset
		defer c.Close()
		conns["new"] = c
	}
	for name, c := range conns {
		if s, err := read(c, 5*time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s connection: %q, %v; want a reset", name, s, err)
		}
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	p, c, _ := served(t)
	p.Delay(50 * time.Millisecond)
	start := time.Now()
	exchange(t, c, "a")
	if d := time.Since(start); d < 100*time.Millisecond {
		t.Errorf("there and back took %v, want at least 100ms", d)
	}
}

// TestDelayEachWay delays one direction, and checks the other.
func TestDelayEachWay(t *testing.T) {
	t.Parallel()
	const long = 3 * time.Second
	p, c, got := served(t)
	p.DelayReplies(long)
	send(t, c, "a")
	arrives(t, got, "a")
	silent(t, c)
	p.Heal()
	p.DelayRequests(long)
	send(t, dial(t, p), "b")
	nothingArrives(t, got)
}

// TestJitter checks the spread of the random delays.
func TestJitter(t *testing.T) {
	t.Parallel()
	w := way{delay: time.Second, jitter: time.Second}
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		d := w.wait(1)
		least, most = min(least, d), max(most, d)
	}
	if least < time.Second || least > 1100*time.Millisecond || most < 1900*time.Millisecond || most >= 2*time.Second {
		t.Errorf("between %v and %v, want 1s and 2s", least, most)
	}
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	p, c, _ := served(t)
	p.Throttle(1000)
	start := time.Now()
	exchange(t, c, strings.Repeat("a", 49))
	if d := time.Since(start); d < 100*time.Millisecond {
		t.Errorf("50 bytes there and back at 1000 a second took %v, want at least 100ms", d)
	}
}

func TestSeverRequests(t *testing.T) {
	t.Parallel()
	p, c, got := served(t)
	p.SeverRequests()
	send(t, c, "a\nb\nc")
	if s, err := read(c, 5*time.Second); err == nil && s != "a\n" || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the client got %q, %v", s, err)
	}
	arrives(t, got, "a")
	p.Heal()
	send(t, dial(t, p), "d")
	for line := range got {
		if line == "d" {
			break
		}
		if line != "b" { // the half that arrives before the reset may end in b
			t.Errorf("the server got %q", line)
		}
	}
}

func TestSeverReplies(t *testing.T) {
	t.Parallel()
	p, c, got := served(t)
	p.SeverReplies()
	send(t, c, "abcdef")
	arrives(t, got, "abcdef")
	var all string
	for {
		s, err := read(c, 5*time.Second)
		if all += s; err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection was not reset")
			}
			break
		}
	}
	if all != "" && all != "abc" {
		t.Errorf("the client got %q, want at most half", all)
	}
}
