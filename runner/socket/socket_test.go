package socket_test

import (
	"errors"
	"net"
	"os"
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

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		serveParent()
	}
	goleak.VerifyTestMain(m)
}

// serveVariable makes this program a server, in which its parent is a stranger.
const serveVariable = "SOCKET_TEST_SERVE"

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

// plain returns an answer without the times that depend on when it was given.
func plain(a socket.Answer) socket.Answer {
	a.Now, a.Asked = 0, 0
	return a
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
		if got, err := socket.Ask(s.Address(), limit); plain(got) != want || err != nil {
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
		if got, err := socket.Ask(s.Address(), limit); got.Deadline != want || err != nil {
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
		{socket.Answer{Deadline: 110, Now: 105, Asked: 5}, 9, true}, // the server's clock is ahead
		{socket.Answer{Deadline: 110, Now: 105, Asked: 5}, 10, false},
		{socket.Answer{Deadline: 10, Now: 5, Asked: 105}, 109, true}, // it is behind
		{socket.Answer{Deadline: 10, Now: 5, Asked: 105}, 110, false},
		{socket.Answer{Deadline: 10, Now: 15, Asked: 5}, 0, false}, // it is over
		{socket.Answer{Now: 5, Asked: 105}, 1 << 62, true},
	}
	for _, test := range tests {
		if got := test.a.Ours(test.until); got != test.want {
			t.Errorf("%+v until %v: got %t, want %t", test.a, test.until, got, test.want)
		}
	}
}

// Close leaves nothing, and waits for nobody.
func TestClose(t *testing.T) {
	t.Parallel()
	s, err := socket.Serve(always(answer))
	if err != nil {
		t.Fatal(err)
	}
	held := dial(t, s.Files()[0]) // does not ask
	defer held.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(s.Files()[1]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: %v, want no directory", err)
	}
	if a, err := socket.Ask(s.Address(), limit); err == nil {
		t.Errorf("after Close: got %+v, want an error", a)
	}
}

func TestManyClients(t *testing.T) {
	t.Parallel()
	s := serve(t, always(answer))
	var clients sync.WaitGroup
	for range 200 {
		clients.Go(func() {
			if got, err := socket.Ask(s.Address(), limit); plain(got) != answer || err != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	clients.Wait()
}

// Clients that do nothing, never read or go away at once do not delay others for long.
func TestBadClients(t *testing.T) {
	t.Parallel()
	s := serve(t, always(socket.Answer{Lock: "a", Holder: strings.Repeat("x", 300_000)})) // more than a buffer holds
	for i := range 60 {
		c := dial(t, s.Files()[0])
		if i%2 == 0 {
			_ = c.Close()
		} else {
			defer c.Close()
		}
	}
	if _, err := socket.Ask(s.Address(), limit); errors.Is(err, os.ErrDeadlineExceeded) {
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
