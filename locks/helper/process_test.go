package helper

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"golang.org/x/sys/unix"
)

// TestSignals checks that a helper ignores what a terminal or a service manager sends:
// the core decides.
func TestSignals(t *testing.T) {
	t.Parallel()
	l := hold(t, "fake://h/", options())
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGPIPE} {
		if err := unix.Kill(l.last().process.pid, sig); err != nil {
			t.Fatal(err)
		}
		checkClass(t, "renew after "+unix.SignalName(sig), l.Renew(t.Context()), nil)
	}
	if group, err := unix.Getpgid(l.last().process.pid); err != nil || group != l.last().process.pid {
		t.Errorf("its process group is %d, %v; want its own", group, err)
	}
}

// TestGuard plays a core that dies, and another process that has kept the pipe. That
// process may release the lock even if nobody reads what the helper sends, and then the
// helper ends by itself.
func TestGuard(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	l := hold(t, "fake://h"+log, options())
	fd, err := unix.Dup(int(l.last().process.input.w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	guard := os.NewFile(uintptr(fd), "guard")
	_ = l.last().process.input.w.Close()
	_ = l.last().process.stdout.Close()
	_ = l.last().process.stderr.Close()
	if _, err := guard.WriteString(`{"id":"guard","method":"renew"}` + "\n" + `{"id":"guard2","method":"release"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	awaitNote(t, log, "release")
	select {
	case <-l.last().process.exited:
		t.Error("the helper ended while its input was open")
	default:
	}
	_ = guard.Close()
	drive.Eventually(t, limit, "it ends", func() bool { return isClosed(l.last().process.exited) })
	if end := l.last().process.end; end != "exit status 0" {
		t.Errorf("the helper ended with %s", end)
	}
}

// TestCoreDies checks that without another process, the end of the input ends the helper,
// which releases nothing.
func TestCoreDies(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	l := hold(t, "fake://h"+log, options())
	_ = l.last().process.input.w.Close()
	_ = l.last().process.stdout.Close()
	_ = l.last().process.stderr.Close()
	drive.Eventually(t, limit, "it ends", func() bool { return isClosed(l.last().process.exited) })
	checkAsked(t, log, "open\ntry=true\nacquire\n")
}

// TestInherited checks that a helper does not inherit a file that leaderrun was given for
// the job.
func TestInherited(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	l := start(t, "fake://h/?inherited", options())
	_, err = l.Acquire(t.Context(), true)
	if err == nil || err.Error() != "inherited: []" {
		t.Errorf("got %v", err)
	}
}

// TestByHand starts a helper as a person would.
func TestByHand(t *testing.T) {
	t.Parallel()
	program := filepath.Join(stageFor(t, "fake").Libexec, "leaderrun-fake")
	for _, tt := range []struct {
		args   []string
		status int
	}{
		{nil, exitUsage}, // its input is the null device, which is a device like a terminal
		{[]string{"--version"}, 0},
		{[]string{"--help"}, 0},
		{[]string{"run"}, exitUsage},
	} {
		cmd := exec.Command(program, tt.args...)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != tt.status {
			t.Errorf("%q: exit status %d, want %d", tt.args, got, tt.status)
		}
		if got := string(out); strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, "leaderrun-fake ") || !strings.Contains(got, "--backend fake") {
			t.Errorf("%q: it says %s", tt.args, got)
		}
	}
}

// TestBadInput checks that an invalid request ends the program with a message.
func TestBadInput(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(filepath.Join(stageFor(t, "fake").Libexec, "leaderrun-fake"))
	cmd.Stdin = strings.NewReader("hello\n")
	var log strings.Builder
	cmd.Stderr = &log
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != exitProtocol || log.String() != "leaderrun-fake: the core sent a line that is not a request\n" {
		t.Errorf("exit status %d, and it says %q", got, log.String())
	}
}

// What is set for us alone is not passed on, and the runtime's first value is ours.
func TestEnvironment(t *testing.T) {
	t.Setenv("GOMAXPROCS", "8")
	t.Setenv("NOTIFY_SOCKET", "/run/notify")
	var got []string
	for _, kv := range environment() {
		if key, _, _ := strings.Cut(kv, "="); key == "GOMAXPROCS" || key == "NOTIFY_SOCKET" {
			got = append(got, kv)
		}
	}
	if !slices.Equal(got, []string{"GOMAXPROCS=1"}) {
		t.Errorf("got %q", got)
	}
}
