package host

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestCommand sees where a command runs.
func TestCommand(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, Network, Options{})
	c := h.Command("/bin/sh", "-c", `readlink /proc/self/ns/net; echo "$TMPDIR"; echo "$0"; echo "$OTHER"`, "a b")
	c.Env = []string{"OTHER=o", "TMPDIR=/elsewhere"}
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	ours, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || got[0] == ours || !strings.HasPrefix(got[0], "net:") {
		t.Fatalf("%q: want another network than %s", got, ours)
	}
	if want := []string{h.TempDir(), "a b", "o"}; strings.Join(got[1:], "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got[1:], want)
	}
}

// TestCommandIsNotFound checks that Start reports this, as in package exec.
func TestCommandIsNotFound(t *testing.T) {
	t.Parallel()
	h := newHostWith(t, "", Options{})
	for _, path := range []string{"/no/such/file", "no-such-command"} {
		if err := h.Command(path).Start(); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestCommandEndsWithTheHost starts processes that do not end by themselves and would not
// end with their parent.
func TestCommandEndsWithTheHost(t *testing.T) {
	t.Parallel()
	var p, grandchild Process
	t.Run("host", func(t *testing.T) {
		h := newHostWith(t, CPU, Options{})
		p = start(t, h.Command("/bin/sh", "-c", "setsid sleep 1000 & sleep 1001"))
		until(t, "there is a grandchild", func() bool {
			for _, q := range h.cpu.processes() {
				if q != p && startedBy(q.PID) == [2]string{"sleep", "1000"} {
					grandchild = q
				}
			}
			return grandchild.PID != 0
		})
	})
	until(t, "all of it is gone", func() bool { return p.check() != nil && grandchild.check() != nil })
}

// BenchmarkStart compares the start of a program on a host with that of package exec.
func BenchmarkStart(b *testing.B) {
	h := newHostWith(b, Network, Options{})
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("host", func(b *testing.B) {
		for b.Loop() {
			if err := h.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
