package socket_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/runner/socket"
)

// The tests here change state of the whole process, so they are not parallel.

// A directory is not used if it does not exist, is relative, or has a name that is too long
// for a socket or contains a comma. Nor if others can replace what we make in it: then they could
// have root change the mode of any file.
func TestDirectory(t *testing.T) {
	good, long := short(t), filepath.Join(short(t), strings.Repeat("x", 90))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	comma := filepath.Join(short(t), "a,b")
	if err := os.Mkdir(comma, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", short(t)) // may be removed while the job runs
	open, group, sticky := short(t), short(t), short(t)
	for dir, mode := range map[string]os.FileMode{open: 0o777, group: 0o770, sticky: os.ModeSticky | 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	type place struct{ tmp, want string }
	tests := []place{
		{good, good},
		{long, "/tmp"},
		{filepath.Join(good, "none"), "/tmp"},
		{comma, "/tmp"},
		{"relative", "/tmp"},
		{open, "/tmp"},
		{group, "/tmp"},
		{sticky, sticky},
	}
	if os.Geteuid() == 0 {
		others := short(t)
		within := filepath.Join(others, "d")
		if err := errors.Join(os.Mkdir(within, 0o755), os.Chown(others, 12345, -1)); err != nil {
			t.Fatal(err)
		}
		tests = append(tests, place{others, "/tmp"}, place{within, "/tmp"})
	}
	for _, test := range tests {
		t.Setenv("TMPDIR", test.tmp)
		s := serve(t, always(answer))
		if got := filepath.Dir(s.Files()[1]); got != test.want {
			t.Errorf("TMPDIR=%s: got %s, want %s", test.tmp, got, test.want)
		}
		if _, err := socket.Ask(s.Address(), limit); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(test.tmp, "leaderrun-*")); test.want != test.tmp && len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
}

// The modes do not depend on the umask. On Linux any user may connect, elsewhere only ours.
func TestUmask(t *testing.T) {
	modes := []os.FileMode{os.ModeSocket | 0o600, os.ModeDir | 0o700}
	if runtime.GOOS == "linux" {
		modes = []os.FileMode{os.ModeSocket | 0o666, os.ModeDir | 0o711}
	}
	for _, mask := range []int{0, 0o077, 0o022} {
		old := syscall.Umask(mask)
		s, err := socket.Serve(always(answer))
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range modes {
			if f, err := os.Lstat(s.Files()[i]); err != nil || f.Mode() != want {
				t.Errorf("umask %o: got %v, %v; want %v", mask, f, err, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// descriptors returns how many descriptors are open.
func descriptors(t *testing.T) int {
	t.Helper()
	n := 0
	for fd := range 1024 {
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) == nil {
			n++
		}
	}
	return n
}

func TestNoDescriptorIsLeft(t *testing.T) {
	use := func() {
		s, err := socket.Serve(always(answer))
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			_, _ = socket.Ask(s.Address(), limit)
			_, _ = socket.Ask("key=00,/none,@none", limit)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	use() // the poller keeps some
	before := descriptors(t)
	for range 20 {
		use()
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors are open, %d were before", after, before)
	}
}

// A server that has run out of descriptors answers when it has some again.
func TestOutOfDescriptors(t *testing.T) {
	s := serve(t, always(answer))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	none := old
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: s.Files()[0]})
	if _, err := socket.Ask(s.Address(), limit); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("got %v, want %v", err, syscall.EMFILE)
	}
	time.AfterFunc(30*time.Millisecond, func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Write(fd, make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	tv := syscall.NsecToTimeval(int64(limit))
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &tv); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 1000)
	if n, err := syscall.Read(fd, line); n <= 0 || err != nil {
		t.Errorf("got %q, %v; want an answer", line[:max(n, 0)], err)
	}
}
