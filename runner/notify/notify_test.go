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

// A manager is the other end, a real socket.
type manager struct {
	t    *testing.T
	conn *net.UnixConn
}

// listen listens at an address. If address is "", it chooses one.
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

// received returns the next message, or "" if none arrives within limit.
func (m *manager) received(limit time.Duration) string {
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

func (m *manager) receives(want string) {
	m.t.Helper()
	if got := m.received(patience); got != want {
		m.t.Errorf("got %q, want %q", got, want)
	}
}

func (m *manager) receivesNothing() {
	m.t.Helper()
	if got := m.received(2 * retryPause); got != "" {
		m.t.Errorf("got %q, want nothing", got)
	}
}

// fill sends pings until there is no room. It returns how many it sent.
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

// A log keeps the lines that are logged.
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
	sd.receives("READY=1\nSTATUS=fine")
	if !m.Ping("WATCHDOG=1") {
		t.Error("the ping was not sent")
	}
	sd.receives("WATCHDOG=1")
	if m.Watchdog() != 3*time.Second {
		t.Errorf("the watchdog: got %v, want 3s", m.Watchdog())
	}
	if l.String() != "" {
		t.Errorf("logged: %s", l)
	}
}

// A full socket does not block. Tell keeps the newest line of each variable, which arrives
// when there is room. A ping is not kept, because it may not be true later.
func TestFull(t *testing.T) {
	t.Parallel()
	sd := listen(t, "")
	m, l := tell(t, sd.conn.LocalAddr().String())
	n := fill(t, m)
	if m.Ping("WATCHDOG=1") {
		t.Error("Ping reports that it was sent")
	}
	m.Tell("STATUS=old")
	m.Tell("READY=1", "STATUS=new")
	for range n {
		sd.receives("FILL=1")
	}
	sd.receives("READY=1\nSTATUS=new")
	sd.receivesNothing()
	m.Tell("STOPPING=1")
	sd.receives("STOPPING=1")
	if got := strings.Count(l.String(), "\n"); got != 1 {
		t.Errorf("%d messages, want one:\n%s", got, l)
	}
}

// Close tries once more to send the lines that are left, and then drops them.
func TestCloseWhenFull(t *testing.T) {
	t.Parallel()
	sd := listen(t, "")
	m, _ := tell(t, sd.conn.LocalAddr().String())
	n := fill(t, m)
	m.Tell("STATUS=a")
	m.Close()
	for range n {
		sd.receives("FILL=1")
	}
	sd.receivesNothing()
	m.Tell("STATUS=b")
	if m.Ping("WATCHDOG=1") {
		t.Error("a ping was sent after Close")
	}
	m.Close()
	sd.receivesNothing()
}

// If the socket is missing or of another kind, that is logged once. When the socket comes
// back, it is used again.
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
	sd.receives("STATUS=b")
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

// The methods of a nil manager do nothing.
func TestNone(t *testing.T) {
	t.Parallel()
	m := FromEnvironment([]string{"NOTIFY_SOCKET=", "WATCHDOG_USEC=1"}, 1, nil)
	if m != nil {
		t.Error("got a manager")
	}
	m.Tell("READY=1")
	if m.Ping("WATCHDOG=1") || m.Watchdog() != 0 {
		t.Error("a nil manager has sent a ping, or has a watchdog")
	}
	m.Close()
}

// Processes that we start do not inherit the socket.
func TestNotInherited(t *testing.T) {
	t.Parallel()
	m, _ := tell(t, listen(t, "").conn.LocalAddr().String())
	if flags, err := unix.FcntlInt(uintptr(m.socket.fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the descriptor's flags are %#x, %v; want close-on-exec", flags, err)
	}
}
