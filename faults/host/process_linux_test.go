package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestExhaustFiles asks a process to open a file.
func TestExhaustFiles(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, "", Options{})
	c := h.Command("/bin/sh", "-c", "while read x; do if true </dev/null; then echo yes; else echo no; fi; done 2>/dev/null")
	in, err1 := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	if err := errors.Join(err1, err2, c.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = c.Wait() })
	answers := bufio.NewReader(out)
	opens := func(want string) {
		t.Helper()
		if _, err := io.WriteString(in, "?\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := answers.ReadString('\n'); strings.TrimSpace(got) != want {
			t.Errorf("it opens a file: %q, %v, want %q", got, err, want)
		}
	}
	p := At(c.Process.Pid)
	opens("yes")
	for range 2 { // a second time must not be what is restored
		if err := h.ExhaustFiles(p); err != nil {
			t.Fatal(err)
		}
	}
	opens("no")
	if err := h.RestoreFiles(p); err != nil {
		t.Fatal(err)
	}
	opens("yes")
}

// TestSignalMeetsNobodyElse uses ids that mean groups, or a process other than the
// intended one.
func TestSignalMeetsNobodyElse(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, "", Options{})
	p := start(t, h.Command("/bin/sleep", "1000"))
	late := p
	late.started++
	for _, q := range []Process{{}, {PID: -1, started: 1}, {PID: 1, started: At(p.PID).started}, {PID: p.PID}, late, At(0), At(-p.PID), At(1)} {
		for what, err := range map[string]error{"signal": h.Signal(q, 0), "files": h.ExhaustFiles(q)} {
			if !errors.Is(err, ErrGone) {
				t.Errorf("%s of %+v: %v", what, q, err)
			}
		}
	}
	if err := h.Signal(p, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "it is gone", func() bool { return errors.Is(h.Signal(p, 0), ErrGone) })
}

// TestStopsEndWithTheHost stops a process that is not the host's to kill.
func TestStopsEndWithTheHost(t *testing.T) {
	t.Parallel()
	c := exec.Command("/bin/sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	p := At(c.Process.Pid)
	t.Run("host", func(t *testing.T) {
		h := newHostWith(t, "", Options{})
		if err := h.Signal(p, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		until(t, "it is stopped", func() bool { return state(t, p) == "T" })
	})
	until(t, "it goes on", func() bool { return state(t, p) == "S" })
}

func state(t *testing.T, p Process) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	if err != nil {
		t.Fatal(err)
	}
	return string(text[strings.LastIndexByte(string(text), ')')+2:][:1])
}
