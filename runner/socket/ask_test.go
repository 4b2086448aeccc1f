package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/socket"
)

// Ask waits no longer than the limit for a server that is frozen, or is not leaderrun.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	const short = 50 * time.Millisecond
	for name, talk := range map[string]func(net.Conn){
		"silence": func(net.Conn) {},
		"a drop now and then": func(c net.Conn) {
			for _, err := c.Write([]byte("{")); err == nil; _, err = c.Write([]byte(" ")) {
				time.Sleep(short / 5)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if a, err := socket.Ask(rogue(t, talk), short); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %+v, %v; want a timeout", a, err)
			}
			if took := time.Since(start); took > limit {
				t.Errorf("it took %v", took)
			}
		})
	}
	t.Run("full backlog", func(t *testing.T) {
		path, fd := stuck(t)
		defer syscall.Close(fd)
		for range 4 {
			if a, err := socket.Ask(path, short); err == nil {
				t.Errorf("got %+v, want an error", a)
			}
		}
	})
}

// rogue starts a server that calls talk for each client, and does not hang up.
func rogue(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(short(t), "s"))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	ended := make(chan struct{})
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				talk(c)
				<-ended
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); close(ended); all.Wait() })
	return l.Addr().String()
}

// stuck starts a server with a backlog of 1 that accepts no client.
func stuck(t *testing.T) (path string, fd int) {
	t.Helper()
	path = filepath.Join(short(t), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = syscall.Listen(fd, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, fd
}

// short makes a directory with a short name.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Anything but an answer of leaderrun is an error. It never says that the lease is ours.
func TestGarbage(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "\n", "garbage\n", "null\n", "{}\n", "[]\n", `"a"` + "\n", `{"lock":""}` + "\n", `{"deadline":5}` + "\n",
		`{"lock":"a"`, `{"lock":"a"} {"lock":"a"}`, `{"lock":1}`, `{"lock":"a","deadline":"x"}`, `{"lock":"a","lost":0}`,
		`{"lock":"a","holder":"` + strings.Repeat("x", 1<<20) + `"}`, strings.Repeat(" ", 1<<20), "\x00\xff",
	} {
		path := rogueLine(t, text)
		a, err := socket.Ask(path, limit)
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || a != (socket.Answer{}) {
			t.Errorf("%.20q: got %+v, %v; want an error", text, a, err)
		}
	}
}

// rogueLine starts a server that sends text and hangs up.
func rogueLine(t *testing.T, text string) string {
	return rogue(t, func(c net.Conn) {
		_, _ = fmt.Fprint(c, text)
		_ = c.Close()
	})
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	const secret = "key=5ec2e7"
	for _, path := range []string{
		"", "s", filepath.Join(t.TempDir(), "none"), "/" + strings.Repeat("x", 200), "/dev/null",
		secret, secret + ",", secret + ",s,@none", secret + "s,s", secret + ",," + secret + ",s",
	} {
		if a, err := socket.Ask(path, limit); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: got %+v, %v; want an error without the secret", path, a, err)
		}
	}
}

// A plain path is asked without a proof, and answers before it has read anything.
func TestPath(t *testing.T) {
	t.Parallel()
	path := rogueLine(t, `{"lock":"a","deadline":10}`+"\n")
	for range 100 {
		if a, err := socket.Ask(path, limit); a.Lock != "a" || !a.Ours(9) || a.Ours(10) || err != nil {
			t.Fatalf("got %+v, %v", a, err)
		}
	}
}

// Others may have put a socket of their own in the place of ours. They cannot prove to be us:
// neither with what they make up, nor with what we have told them.
func TestImpostor(t *testing.T) {
	t.Parallel()
	s := serve(t, always(answer))
	c := dial(t, s.Files()[0])
	defer c.Close()
	_, _ = c.Write(make([]byte, 16))
	recorded, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(recorded), `"lock":"a/b"`) {
		t.Fatalf("got %q, %v", recorded, err)
	}
	key, _, _ := strings.Cut(s.Address(), ",")
	for _, text := range []string{
		`{"lock":"a/b"}`, " " + `{"lock":"a/b"}`, strings.Repeat("0", 64) + ` {"lock":"a/b"}`, "x" + ` {"lock":"a/b"}`, strings.TrimSpace(string(recorded)),
	} {
		a, err := socket.Ask(key+","+rogueLine(t, text+"\n"), limit)
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || a != (socket.Answer{}) {
			t.Errorf("%q: got %+v, %v; want an error", text, a, err)
		}
	}
}

// The sockets of a leaderrun are tried in turn, until one proves to be its own.
func TestInTurn(t *testing.T) {
	t.Parallel()
	s := serve(t, always(answer))
	key, ours, _ := strings.Cut(s.Address(), ",")
	for what, first := range map[string]string{
		"nobody":                filepath.Join(t.TempDir(), "none"),
		"an impostor":           rogueLine(t, `{"lock":"a/b"}`+"\n"),
		"who calls us stranger": rogueLine(t, `{"lock":"","outside":true}`+"\n"),
	} {
		if a, err := socket.Ask(key+","+first+","+ours, limit); plain(a) != answer || err != nil {
			t.Errorf("%s first: got %+v, %v", what, a, err)
		}
	}
	outside := rogueLine(t, `{"lock":"x","token":5,"outside":true}`+"\n")
	if a, err := socket.Ask(key+","+filepath.Join(t.TempDir(), "none")+","+outside, limit); a != (socket.Answer{Outside: true}) || err != nil {
		t.Errorf("got %+v, %v; want to be a stranger", a, err)
	}
}
