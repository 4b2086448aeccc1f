package clock_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// embedding is a clock like those of packages that need more of a machine than its clock.
type embedding struct{ clock.Boot }

// ticking is the boot clock, but not for the Timer.
type ticking struct{}

func (ticking) Now() clock.Instant { return clock.Boot{}.Now() }

// alarms returns how many timers of the kernel this process has. No child may inherit them.
func alarms(t *testing.T) (n int) {
	t.Helper()
	const dir = "/proc/self/fd"
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if to, _ := os.Readlink(filepath.Join(dir, f.Name())); to != "anon_inode:[timerfd]" {
			continue
		}
		n++
		fd, _ := strconv.Atoi(f.Name())
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			t.Error("a child would inherit a timer")
		}
	}
	return n
}

// awaitAlarms waits until this process has so many timers of the kernel. A Timer that has
// ended closes its own a moment later.
func awaitAlarms(t *testing.T, want int) {
	t.Helper()
	got := alarms(t)
	for end := time.Now().Add(10 * time.Second); got != want && time.Now().Before(end); got = alarms(t) {
		time.Sleep(time.Millisecond)
	}
	if got != want {
		t.Errorf("%d timers of the kernel; want %d", got, want)
	}
}

// fires fails unless the timer fires, not before the moment, and before the test gives up.
func fires(t *testing.T, timer *clock.Timer, at clock.Instant) {
	t.Helper()
	select {
	case <-timer.C:
		if early := at.Sub(clock.Boot{}.Now()); early > 0 {
			t.Errorf("fired %v early", early)
		}
	case <-time.After(at.Sub(clock.Boot{}.Now()) + 30*time.Second):
		t.Error("did not fire")
	}
}

// TestTimerOfTheKernel checks which Timers have one, and that each gives it back.
func TestTimerOfTheKernel(t *testing.T) {
	awaitAlarms(t, 0)
	for _, tt := range []struct {
		clock clock.Clock
		want  int
	}{{clock.Boot{}, 1}, {embedding{}, 1}, {&embedding{}, 1}, {ticking{}, 0}, {clock.Bubble{}, 0}} {
		later := tt.clock.Now().Add(time.Hour)
		timer := clock.NewTimer(tt.clock, later)
		if got := alarms(t); got != tt.want {
			t.Errorf("%T: %d timers of the kernel; want %d", tt.clock, got, tt.want)
		}
		timer.Stop()
		timer.Stop()
		awaitAlarms(t, 0)
		for _, at := range []clock.Instant{clock.Never, 0, tt.clock.Now()} { // nothing to wait for
			clock.NewTimer(tt.clock, at)
			awaitAlarms(t, 0)
		}
	}
	at := clock.Boot{}.Now().Add(20 * time.Millisecond)
	fires(t, clock.NewTimer(clock.Boot{}, at), at)
	awaitAlarms(t, 0)
}

// TestTimersAtOnce has many timers at once, and stops every third.
func TestTimersAtOnce(t *testing.T) {
	const n = 300
	start := clock.Boot{}.Now().Add(50 * time.Millisecond)
	var timers [n]*clock.Timer
	at := func(i int) clock.Instant { return start.Add(time.Duration(i*7%n) * time.Millisecond) }
	for i := range n {
		timers[i] = clock.NewTimer(clock.Boot{}, at(i))
	}
	isOver := func(i int) bool {
		select {
		case <-timers[i].C:
			return true
		default:
			return false
		}
	}
	var before [n]bool
	for i := 0; i < n; i += 3 {
		timers[i].Stop()
		before[i] = isOver(i)
	}
	for i := range n {
		if i%3 != 0 {
			fires(t, timers[i], at(i))
		}
	}
	last := start.Add((n + 50) * time.Millisecond)
	fires(t, clock.NewTimer(clock.Boot{}, last), last)
	for i := 0; i < n; i += 3 {
		if isOver(i) != before[i] {
			t.Errorf("timer %d fired after Stop", i)
		}
	}
	awaitAlarms(t, 0)
}

// TestTimerAfterFailure makes the wait for the kernel fail. The Timer fires nevertheless.
func TestTimerAfterFailure(t *testing.T) {
	at := clock.Boot{}.Now().Add(50 * time.Millisecond)
	timer := clock.NewTimer(clock.Boot{}, at)
	timer.Disturb()
	awaitAlarms(t, 0)
	fires(t, timer, at)

	timer = clock.NewTimer(clock.Boot{}, clock.Boot{}.Now().Add(20*time.Millisecond))
	timer.Disturb()
	awaitAlarms(t, 0)
	timer.Stop()
	select {
	case <-timer.C:
		t.Error("fired after Stop")
	case <-time.After(50 * time.Millisecond):
	}
}

// again runs tests of this program in another process, which the given command starts.
func again(t *testing.T, tests string, command ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command = append(command, self, "-test.run", "^("+tests+")$", "-test.v")
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), "CLOCK_TEST="+t.Name())
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", tests, err, out)
	}
}

// TestTimerWithoutDescriptors: a process that can open no file has timers as well.
func TestTimerWithoutDescriptors(t *testing.T) {
	if os.Getenv("CLOCK_TEST") != t.Name() {
		again(t, t.Name())
		return
	}
	at := clock.Boot{}.Now().Add(50 * time.Millisecond)
	before := clock.NewTimer(clock.Boot{}, at) // Go's poller needs files of its own
	defer before.Stop()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	fires(t, clock.NewTimer(clock.Boot{}, at), at)
	fires(t, before, at)
}

// TestTimerWhereClocksDiffer has timers in a namespace in which the boot clock is a day
// ahead of the clock that stops in suspend.
func TestTimerWhereClocksDiffer(t *testing.T) {
	unshare := []string{"unshare", "--time", "--fork", "--boottime", fmt.Sprint(24 * 60 * 60)}
	if os.Getenv("CLOCK_TEST") == t.Name() {
		at := clock.Boot{}.Now().Add(50 * time.Millisecond)
		timer := clock.NewTimer(clock.Boot{}, at)
		awaitAlarms(t, 1)
		fires(t, timer, at)
		return
	}
	switch err := exec.Command(unshare[0], append(unshare[1:], "true")...).Run(); {
	case err == nil:
		again(t, t.Name()+"|TestBootIsUptime", unshare...)
	case os.Getenv("CI") == "true":
		t.Fatalf("in CI, and without a namespace: %v", err)
	default:
		t.Skipf("without a namespace: %v", err)
	}
}
