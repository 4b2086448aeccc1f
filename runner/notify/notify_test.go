//go:build unix

package notify

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A manager is the other end: a real socket.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

// listen listens at an address, or one that it makes up.
func listen(t *testing.T, address string) *manager {
	t.Helper()
	if address == "" {
		address = filepath.Join(t.TempDir(), "s")
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &manager{t, conn}
}

// heard returns the next message, or "" if there is none.
func (m *manager) heard(limit time.Duration) string {
	m.t.Helper()
	buf := make([]byte, 4096)
	_ = m.conn.SetReadDeadline(time.Now().Add(limit))
	n, err := m.conn.Read(buf)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		m.t.Fatal(err)
	}
	return string(buf[:n])
}

const patience = 20 * time.Second

func (m *manager) hears(want string) {
	m.t.Helper()
	if got := m.heard(patience); got != want {
		m.t.Errorf("got %q, want %q", got, want)
	}
}

func (m *manager) hearsNothing() {
	m.t.Helper()
	if got := m.heard(2 * again); got != "" {
		m.t.Errorf("got %q, want nothing", got)
	}
}

// fill sends pings until there is no room, and returns how many there were.
func fill(t *testing.T, m *Manager) int {
	t.Helper()
	for n := range 100_000 {
		if !m.Ping("FILL=1") {
			return n
		}
	}
	t.Fatal("the socket is never full")
	return 0
}

// A log keeps what is logged.
type log struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

func tell(t *testing.T, address string) (*Manager, *log) {
	t.Helper()
	l := &log{}
	m := FromEnvironment([]string{"NOTIFY_SOCKET=" + address, "WATCHDOG_USEC=3000000"}, 1, slog.New(slog.NewTextHandler(l, nil)))
	t.Cleanup(m.Close)
	return m, l
}

func TestPath(t *testing.T) {
	t.Parallel()
	checkAddress(t, "")
}

func TestAbstractName(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has abstract names")
	}
	checkAddress(t, fmt.Sprintf("@leaderrun-test-%d", os.Getpid()))
}

func checkAddress(t *testing.T, address string) {
	t.Helper()
	sd := listen(t, address)
	m, l := tell(t, sd.conn.LocalAddr().String())
	m.Tell("READY=1", "STATUS=fine")
	sd.hears("READY=1\nSTATUS=fine")
	if !m.Ping("WATCHDOG=1") {
		t.Error("the ping was not sent")
	}
	sd.hears("WATCHDOG=1")
	if m.Watchdog() != 3*time.Second {
		t.Errorf("the watchdog: got %v, want 3s", m.Watchdog())
	}
	if l.String() != "" {
		t.Errorf("logged: %s", l)
	}
}

// A socket that is full blocks nobody. What was told then is kept, the newest of
// each variable, and arrives when there is room; a ping is not kept: later it
// may not be true.
func TestFull(t *testing.T) {
	t.Parallel()
	sd := listen(t, "")
	m, l := tell(t, sd.conn.LocalAddr().String())
	n := fill(t, m)
	if m.Ping("WATCHDOG=1") {
		t.Error("the ping was sent, it is said")
	}
	m.Tell("STATUS=old")
	m.Tell("READY=1", "STATUS=new")
	for range n {
		sd.hears("FILL=1")
	}
	sd.hears("READY=1\nSTATUS=new")
	sd.hearsNothing()
	m.Tell("STOPPING=1")
	sd.hears("STOPPING=1")
	if got := strings.Count(l.String(), "\n"); got != 1 {
		t.Errorf("%d messages, want one:\n%s", got, l)
	}
}

// What is left at the end is tried once more, and then given up.
func TestCloseWhenFull(t *testing.T) {
	t.Parallel()
	sd := listen(t, "")
	m, _ := tell(t, sd.conn.LocalAddr().String())
	n := fill(t, m)
	m.Tell("STATUS=a")
	m.Close()
	for range n {
		sd.hears("FILL=1")
	}
	sd.hearsNothing()
	m.Tell("STATUS=b")
	if m.Ping("WATCHDOG=1") {
		t.Error("a ping was sent after Close")
	}
	m.Close()
	sd.hearsNothing()
}

// A socket that is missing, or of another kind, is mentioned once, and nothing
// else comes of it. One that comes back is used again.
func TestMissing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	m, l := tell(t, path)
	for range 3 {
		m.Tell("STATUS=a")
		if m.Ping("WATCHDOG=1") {
			t.Error("the ping was sent")
		}
	}
	if got := l.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, path) || !strings.Contains(got, "level=INFO") {
		t.Errorf("logged: %q; want one line of INFO", got)
	}
	sd := listen(t, path)
	m.Tell("STATUS=b")
	sd.hears("STATUS=b")
}

func TestUnusable(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"relative", "vsock:2:1234", "/" + strings.Repeat("x", 200)} {
		m, l := tell(t, address)
		m.Tell("READY=1")
		if got := strings.Count(l.String(), "\n"); got != 1 {
			t.Errorf("%s: %d messages, want one: %s", address, got, l)
		}
	}
}

// Without a manager nothing happens.
func TestNone(t *testing.T) {
	t.Parallel()
	m := FromEnvironment([]string{"NOTIFY_SOCKET=", "WATCHDOG_USEC=1"}, 1, nil)
	if m != nil {
		t.Error("got a manager")
	}
	m.Tell("READY=1")
	if m.Ping("WATCHDOG=1") || m.Watchdog() != 0 {
		t.Error("nobody was told something")
	}
	m.Close()
}

// The socket is no business of the processes that we start.
func TestNotInherited(t *testing.T) {
	t.Parallel()
	m, _ := tell(t, listen(t, "").conn.LocalAddr().String())
	if flags, err := unix.FcntlInt(uintptr(m.socket.fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the descriptor's flags are %#x, %v; want close-on-exec", flags, err)
	}
}
