package signals_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/leaderrun/leaderrun/runner/signals"
	"github.com/leaderrun/leaderrun/runner/terminal/terminaltest"
)

// Variables with the signal that a process of these tests is to die of, get without more ado,
// catch, or drop.
const (
	mustDie   = "SIGNALS_TEST_DIE"
	mustGet   = "SIGNALS_TEST_GET"
	mustCatch = "SIGNALS_TEST_CATCH"
	mustDrop  = "SIGNALS_TEST_DROP"
)

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(mustDie)); err == nil {
		sig := syscall.Signal(n)
		signal.Notify(make(chan os.Signal, 1), sig)
		signals.Die(sig, false)
		os.Exit(3)
	}
	if n, err := strconv.Atoi(os.Getenv(mustGet)); err == nil {
		_ = unix.Kill(unix.Getpid(), syscall.Signal(n))
		time.Sleep(time.Minute)
	}
	if n, err := strconv.Atoi(os.Getenv(mustCatch)); err == nil {
		sig, caught := syscall.Signal(n), make(chan os.Signal, 1)
		signals.Notify(caught, sig)
		_ = unix.Kill(unix.Getpid(), sig)
		if <-caught == sig {
			os.Exit(4)
		}
	}
	if n, err := strconv.Atoi(os.Getenv(mustDrop)); err == nil {
		signals.Drop(syscall.Signal(n), unix.SIGTSTP, unix.SIGPIPE)
		for _, sig := range []syscall.Signal{syscall.Signal(n), unix.SIGTSTP, unix.SIGPIPE} {
			_ = unix.Kill(unix.Getpid(), sig)
		}
		r, w, _ := os.Pipe()
		_ = r.Close()
		_, _ = w.Write([]byte{0})
		c := exec.Command("grep", "SigIgn", "/proc/self/status")
		c.Stdout = os.Stdout
		_ = c.Run()
		os.Exit(5)
	}
	os.Exit(m.Run())
}

// A process dies of each signal that it has caught, and leaves no core.
func TestDie(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{
		unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGABRT, unix.SIGUSR1, unix.SIGALRM, unix.SIGPIPE, unix.SIGXCPU, 37, 64,
	} {
		c := dying(t, sig)
		_ = c.Run()
		if ws := c.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig || ws.CoreDump() {
			t.Errorf("%s: %v", signals.Name(sig), c.ProcessState)
		}
	}
}

// A process dies of each signal that it has not caught yet, and prints nothing. It catches
// each signal that it asks for.
func TestStart(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGABRT} {
		c := child(t, mustGet, sig)
		printed, _ := c.CombinedOutput()
		if ws := c.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig || len(printed) > 0 {
			t.Errorf("%s at the start: %v: %s", signals.Name(sig), c.ProcessState, printed)
		}
		c = child(t, mustCatch, sig)
		_ = c.Run()
		if got := c.ProcessState.ExitCode(); got != 4 {
			t.Errorf("%s, caught: %v", signals.Name(sig), c.ProcessState)
		}
	}
}

// Each signal that a process asks for arrives, once for each channel, until Stop.
func TestNotify(t *testing.T) {
	all := append(signals.Realtime(), unix.SIGALRM, unix.SIGUSR2, unix.SIGCONT, unix.SIGWINCH)
	got, too := make(chan os.Signal, 64), make(chan os.Signal, 64)
	signals.Notify(got, all...)
	signals.Notify(got, all...) // once is enough
	signals.Notify(too, unix.SIGWINCH)
	send := func(all ...os.Signal) {
		t.Helper()
		before := len(too)
		for _, sig := range all {
			if err := unix.Kill(unix.Getpid(), sig.(syscall.Signal)); err != nil {
				t.Fatal(err)
			}
		}
		for start := time.Now(); len(too) == before; time.Sleep(time.Millisecond) {
			if time.Since(start) > 30*time.Second {
				t.Fatal("SIGWINCH has not arrived")
			}
		}
	}
	send(all...)
	for range all {
		<-got
	}
	signals.Stop(got)
	send(unix.SIGWINCH)
	signals.Stop(too)
	if len(got) != 0 || len(too) != 2 {
		t.Errorf("after Stop: got %d signals and %d, want 0 and 2", len(got), len(too))
	}
}

// A process gets a signal that was blocked when it was started.
func TestBlocked(t *testing.T) {
	t.Parallel()
	c := child(t, mustCatch, unix.SIGTERM)
	c.Path, c.Args = "/usr/bin/perl", []string{"perl", "-MPOSIX", "-e", "sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGTERM)); exec @ARGV", os.Args[0]}
	_ = c.Run()
	if got := c.ProcessState.ExitCode(); got != 4 {
		t.Errorf("got %v", c.ProcessState)
	}
}

// Dropped signals do nothing, and processes that are started then do not ignore them.
func TestDrop(t *testing.T) {
	t.Parallel()
	c := child(t, mustDrop, unix.SIGTERM)
	printed, _ := c.Output()
	var ignored uint64 // also what we were started with
	_, err := fmt.Sscanf(string(printed), "SigIgn:\t%x\n", &ignored)
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGTSTP, unix.SIGPIPE} {
		if got := c.ProcessState.ExitCode(); err != nil || got != 5 || ignored&(1<<(sig-1)) != 0 {
			t.Errorf("%v: %v: %s", c.ProcessState, err, printed)
		}
	}
}

// A process dies of HUP only if it has a terminal.
func TestDieOfHangup(t *testing.T) {
	t.Parallel()
	c := dying(t, unix.SIGHUP)
	_ = c.Run()
	if got := c.ProcessState.ExitCode(); got != 3 {
		t.Errorf("without a terminal: %v", c.ProcessState)
	}
	master, slave, err := terminaltest.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	c = dying(t, unix.SIGHUP)
	c.Stdin, c.SysProcAttr.Setctty = slave, true
	_ = c.Run()
	if ws := c.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != unix.SIGHUP {
		t.Errorf("on a terminal: %v", c.ProcessState)
	}
}

// dying returns a process without a terminal that calls Die. A core could be written into its
// directory.
func dying(t *testing.T, sig syscall.Signal) *exec.Cmd {
	c := child(t, mustDie, sig)
	c.Args[2] = `ulimit -c unlimited 2>/dev/null; exec "$0"`
	return c
}

// child returns a process without a terminal, and a variable with the number of a signal.
func child(t *testing.T, variable string, sig syscall.Signal) *exec.Cmd {
	c := exec.Command("sh", "-c", `ulimit -c 0; exec "$0"`, os.Args[0])
	c.Dir, c.Env = t.TempDir(), append(os.Environ(), variable+"="+strconv.Itoa(int(sig)))
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c
}
