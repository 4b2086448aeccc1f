package faultproxy

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestDelayEachWay delays one direction, and checks the other.
func TestDelayEachWay(t *testing.T) {
	t.Parallel()
	const long = 3 * time.Second
	addr, got := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	p.DelayReplies(long)
	send(t, c, "a")
	if line := <-got; line != "a" {
		t.Errorf("the server got %q", line)
	}
	if s, err := read(c, 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a delayed reply came: %q, %v", s, err)
	}
	p.Heal()
	p.DelayRequests(long)
	send(t, dial(t, p), "b")
	select {
	case line := <-got:
		t.Errorf("the server got %q", line)
	case <-time.After(50 * time.Millisecond):
	}
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
	addr, _ := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	p.Throttle(1000)
	start := time.Now()
	send(t, c, strings.Repeat("a", 49))
	if _, err := read(c, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d < 100*time.Millisecond {
		t.Errorf("50 bytes there and back at 1000 a second took %v, want at least 100ms", d)
	}
}

func TestSeverRequests(t *testing.T) {
	t.Parallel()
	addr, got := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	p.SeverRequests()
	send(t, c, "a\nb\nc")
	if s, err := read(c, 5*time.Second); err == nil && s != "a\n" || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the client got %q, %v", s, err)
	}
	if line := <-got; line != "a" {
		t.Errorf("the server got %q", line)
	}
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
	addr, got := echo(t)
	p := New(t, addr)
	c := dial(t, p)
	p.SeverReplies()
	send(t, c, "abcdef")
	if line := <-got; line != "abcdef" {
		t.Errorf("the server got %q", line)
	}
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
