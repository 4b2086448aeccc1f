package signals_test

import (
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
// or catch.
const (
	mustDie   = "SIGNALS_TEST_DIE"
	mustGet   = "SIGNALS_TEST_GET"
	mustCatch = "SIGNALS_TEST_CATCH"
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
