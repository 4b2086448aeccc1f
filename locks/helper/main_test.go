package helper

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/file"
	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// TestMain runs the tests, or a helper: the test binary is also every helper, and is then
// started under the name leaderrun-ROLE.
func TestMain(m *testing.M) {
	role, ok := strings.CutPrefix(filepath.Base(os.Args[0]), prefix)
	if !ok {
		tester.Forget()
		// With the race detector a program sleeps for a second before it ends.
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE")); err != nil {
			panic(err)
		}
		goleak.VerifyTestMain(m)
		return
	}
	if serve, ok := mains[role]; ok {
		os.Exit(serve())
	}
	os.Exit(play(role))
}

// mains are the roles that call Main.
var mains = map[string]func() int{
	"fake": func() int { return Main("fake", openFake) },
	"file": func() int { return Main("file", file.Open) },
	"deaf": func() int { time.Sleep(time.Minute); return 0 },
}

// limit is how long anything in these tests may take that should be prompt, on a busy
// machine.
const limit = 10 * time.Second

// stageFor returns programs for the given roles.
func stageFor(t testing.TB, roles ...string) *Programs {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, role := range roles {
		if err := os.Symlink(self, filepath.Join(dir, prefix+role)); err != nil {
			t.Fatal(err)
		}
	}
	return &Programs{Libexec: dir}
}

func options() locks.Options {
	return locks.Options{Name: "jobs/nightly", Holder: "me", TTL: 15 * time.Second, ConnectTimeout: limit}
}

// start opens a lock of the helper that u names.
func start(t testing.TB, u string, o locks.Options) *Lock {
	t.Helper()
	parsed, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	l, err := stageFor(t, parsed.Scheme).Open(t.Context(), parsed, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, l.(*Lock)) })
	return l.(*Lock)
}

// hold opens a lock and acquires it.
func hold(t testing.TB, u string, o locks.Options) *Lock {
	t.Helper()
	l := start(t, u, o)
	if _, err := l.Acquire(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	return l
}

// shut closes a lock and checks that nothing is left of its helper.
func shut(t testing.TB, l *Lock) {
	t.Helper()
	begun := time.Now()
	if err := l.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if took := time.Since(begun); took > closeTimeout+killTimeout+time.Second {
		t.Errorf("close took %v", took)
	}
	// Processes that the helper left behind are killed, but others have to reap them.
	drive.Eventually(t, limit, "the helper's process group is gone", func() bool { return !alive(l.last().process.pid) })
}

// within returns a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// checkNotLost checks that no loss was reported.
func checkNotLost(t *testing.T, l *Lock) {
	t.Helper()
	select {
	case err := <-l.Lost():
		t.Errorf("reported as lost: %v", err)
	default:
	}
}

// last returns the session with the latest helper.
func (l *Lock) last() *session { return l.at.Load() }

// checkPending checks how many requests wait for an answer.
func checkPending(t *testing.T, l *Lock, want int) {
	t.Helper()
	s := l.last()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := len(s.pending); got != want {
		t.Errorf("%d requests wait for an answer; want %d", got, want)
	}
}

// checkAsked checks what a fake has noted in its log.
func checkAsked(t *testing.T, log, want string) {
	t.Helper()
	if got := read(t, log); got != want {
		t.Errorf("the backend was asked for %q, want %q", got, want)
	}
}

// checkClass checks the class of an error; nil means success.
func checkClass(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v; want %v", what, got, want)
	}
}

// alive reports whether anything of a process group is left.
func alive(group int) bool { return !errors.Is(unix.Kill(-group, 0), unix.ESRCH) }

func stopMyself() { _ = unix.Kill(unix.Getpid(), unix.SIGSTOP) }

// inherited returns the open files that would survive an exec, except for the first
// three.
func inherited() (fds []int) {
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		panic(err)
	}
	for _, n := range names {
		fd, _ := strconv.Atoi(n.Name())
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); fd > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 {
			fds = append(fds, fd)
		}
	}
	return fds
}

// detach makes a command start in its own session, and so in its own process group.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
