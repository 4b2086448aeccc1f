//go:build unix

package socket_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/socket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is how long a client waits for an answer that must come.
const limit = 10 * time.Second

var answer = socket.Answer{Lock: "a/b", Store: "0123ab", Holder: "host/1/\x01\"é", Token: 1<<64 - 1, Deadline: 12345}

func serve(t *testing.T, f func() socket.Answer) *socket.Server {
	t.Helper()
	s, err := socket.Serve(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func always(a socket.Answer) func() socket.Answer { return func() socket.Answer { return a } }

func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, want := range []socket.Answer{
		answer,
		{Lock: "permanent"},
		{Lock: "lost", Lost: true, Deadline: 1},
		{Lock: "long", Holder: strings.Repeat("x", 60_000)},
	} {
		s := serve(t, always(want))
		if got, err := socket.Ask(s.Path(), limit); got != want || err != nil {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}

// Each client gets the answer of that moment.
func TestAnswersAreFresh(t *testing.T) {
	t.Parallel()
	var deadline atomic.Int64
	s := serve(t, func() socket.Answer {
		return socket.Answer{Lock: "a", Deadline: clock.Instant(deadline.Add(1))}
	})
	for want := clock.Instant(1); want < 10; want++ {
		if got, err := socket.Ask(s.Path(), limit); got.Deadline != want || err != nil {
			t.Errorf("got %v, %v; want %v", got.Deadline, err, want)
		}
	}
}

func TestOurs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a     socket.Answer
		until clock.Instant
		want  bool
	}{
		{socket.Answer{Deadline: 10}, 9, true},
		{socket.Answer{Deadline: 10}, 10, false},
		{socket.Answer{Deadline: 10}, 11, false},
		{socket.Answer{Deadline: 10, Lost: true}, 9, false},
		{socket.Answer{}, 1 << 62, true},
		{socket.Answer{Lost: true}, 0, false},
	}
	for _, test := range tests {
		if got := test.a.Ours(test.until); got != test.want {
			t.Errorf("%+v until %v: got %t, want %t", test.a, test.until, got, test.want)
		}
	}
}

// Other users cannot connect, and Close leaves nothing.
func TestPrivate(t *testing.T) {
	t.Parallel()
	s, err := socket.Serve(always(answer))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{
		s.Path():               os.ModeSocket | 0o600,
		filepath.Dir(s.Path()): os.ModeDir | 0o700,
	} {
		if f, err := os.Lstat(path); err != nil || f.Mode() != want {
			t.Errorf("%s: got %v, %v; want the mode %v", path, f, err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(s.Path())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: %v, want no directory", err)
	}
	if a, err := socket.Ask(s.Path(), limit); err == nil {
		t.Errorf("after Close: got %+v, want an error", a)
	}
}

func TestManyClients(t *testing.T) {
	t.Parallel()
	s := serve(t, always(answer))
	var clients sync.WaitGroup
	for range 200 {
		clients.Go(func() {
			if got, err := socket.Ask(s.Path(), limit); got != answer || err != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	clients.Wait()
}

// Clients that do nothing, never read or go away at once do not delay others.
func TestBadClients(t *testing.T) {
	t.Parallel()
	s := serve(t, always(socket.Answer{Lock: "a", Holder: strings.Repeat("x", 300_000)})) // more than a buffer holds
	for i := range 20 {
		c := dial(t, s.Path())
		if i%2 == 0 {
			_ = c.Close()
		} else {
			defer c.Close()
		}
	}
	if _, err := socket.Ask(s.Path(), limit); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want half an answer", err)
	}
}

// dial connects. If the backlog is full, it waits until there is room again.
func dial(t *testing.T, path string) net.Conn {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("unix", path)
		if err == nil {
			return c
		}
		if !errors.Is(err, syscall.EAGAIN) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
