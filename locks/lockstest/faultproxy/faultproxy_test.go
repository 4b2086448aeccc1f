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

func TestForwards(t *testing.T) {
	t.Parallel()
	addr, _ := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	send(t, c, "a")
	if got, err := read(c, 5*time.Second); got != "a\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
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
	addr, got := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	p.CutReplies()
	send(t, c, "a")
	if line := <-got; line != "a" {
		t.Errorf("the server got %q", line)
	}
	if s, err := read(c, 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a reply came through a cut: %q, %v", s, err)
	}
	p.Heal()
	if s, err := read(c, 5*time.Second); s != "a\n" {
		t.Errorf("after the cut: %q, %v", s, err)
	}
}

func TestCutAll(t *testing.T) {
	t.Parallel()
	addr, got := echo(t)
	p := New(t, addr)
	p.CutAll()
	c := dial(t, p)
	send(t, c, "a")
	select {
	case line := <-got:
		t.Errorf("the server got %q", line)
	case <-time.After(50 * time.Millisecond):
	}
	p.Reset()
	p.Heal()
	if s, err := read(c, 5*time.Second); err == nil {
		t.Errorf("after a reset: %q", s)
	}
	send(t, dial(t, p), "b")
	if line := <-got; line != "b" {
		t.Errorf("the server got %q: what was held back was not lost", line)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	addr, got := echo(t)
	p := New(t, addr)
	old := dial(t, p)
	send(t, old, "a")
	if _, err := read(old, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	<-got
	p.Silence()
	p.Heal()
	send(t, old, "b")
	send(t, dial(t, p), "c")
	if line := <-got; line != "c" {
		t.Errorf("the server got %q", line)
	}
	if s, err := read(old, 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a silent connection: %q, %v", s, err)
	}
}

// TestHoldNth holds back what a client sends before it gives up. It arrives in the end.
func TestHoldNth(t *testing.T) {
	t.Parallel()
	addr, got := echo(t)
	p := New(t, addr)
	old := dial(t, p)
	p.HoldNth(1)
	send(t, old, "a")
	if s, err := read(old, 5*time.Second); s != "a\n" {
		t.Fatalf("the first piece: %q, %v", s, err)
	}
	<-got
	send(t, old, "b")
	if s, err := read(old, 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a silent connection: %q, %v", s, err)
	}
	old.Close()
	send(t, dial(t, p), "c")
	if line := <-got; line != "c" {
		t.Errorf("the server got %q", line)
	}
	p.Land()
	if line := <-got; line != "b" {
		t.Errorf("the server got %q", line)
	}
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
	addr, _ := echo(t)
	p := New(t, addr)
	old := dial(t, p)
	send(t, old, "a")
	if _, err := read(old, 5*time.Second); err != nil {
		t.Fatal(err)
	}
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
	addr, _ := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	p.Delay(50 * time.Millisecond)
	start := time.Now()
	send(t, c, "a")
	if _, err := read(c, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d < 100*time.Millisecond {
		t.Errorf("there and back took %v, want at least 100ms", d)
	}
}
