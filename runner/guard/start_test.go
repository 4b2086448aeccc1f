package guard_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lease/clock"
	"github.com/leaderrun/leaderrun/runner/proc"
)

// write writes a file.
func write(t testing.TB, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// Find and Start distinguish a command that cannot be executed from one that does not exist.
func TestNotRunnable(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	write(t, filepath.Join(bin, "plain"), "#!/bin/sh\n", 0o644)
	t.Setenv("PATH", dir+":"+bin)
	tests := []struct {
		name, path string
		find       bool // Find knows that
		notFound   bool
		says       string
	}{
		{"missing", filepath.Join(dir, "missing"), true, true, "was not found"},
		{"missing in PATH", "missing", true, true, "was not found"},
		{"not executable", filepath.Join(bin, "plain"), true, false, "permission denied"},
		{"not executable in PATH", "plain", true, false, "permission denied"},
		{"directory", dir, true, false, "is a directory"},
		{"no interpreter", write(t, filepath.Join(dir, "bad"), "#!/none/such\n", 0o755), true, true, "its interpreter was not found"},
		{"interpreter not executable", write(t, filepath.Join(dir, "worse"), "#!"+filepath.Join(bin, "plain")+"\n", 0o755), true, false, "permission denied"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, err := proc.Find(test.path)
			if found := err == nil; found == test.find {
				t.Errorf("Find: got %q, %v", path, err)
			}
			if !test.find || strings.Contains(test.path, "/") {
				_, err = startCommand(t, proc.Command{Path: test.path, Args: []string{"x"}})
			}
			var e *proc.StartError
			if !errors.As(err, &e) || e.NotFound != test.notFound {
				t.Fatalf("got %v, want a StartError with NotFound %t", err, test.notFound)
			}
			if name := filepath.Base(test.path); !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), test.says) && !(test.name == "directory") {
				t.Errorf("got %q; want it to say %s of %s", err, test.says, name)
			}
		})
	}
}

// The shell runs a script without an interpreter in its first line, as with flock(1) and
// timeout(1).
func TestScriptWithoutInterpreter(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "script"), `[ "$0 $1 $2" = "$SELF a b" ] && exit 3`, 0o755)
	j, err := startCommand(t, proc.Command{Path: path, Args: []string{"other", "a", "b"}, Env: []string{"SELF=" + path}})
	if err != nil {
		t.Fatal(err)
	}
	<-j.Exited()
	if got := j.Exit(); got.Code != 3 {
		t.Errorf("got %v, want 3", got)
	}
}

// The command gets exactly its arguments, the name first, and its environment.
func TestArgumentsAndEnvironment(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"another name", "", "a b", "*"}
	env := []string{"OUT=" + out, "A=1", "B="}
	<-play(t, "show", args, env).Exited()
	got, _ := os.ReadFile(out)
	env = append([]string{roleVariable + "=show", noDelay}, env...)
	if want := fmt.Sprintf("%q\n%q\n", args, env); string(got) != want {
		t.Errorf("got %swant %s", got, want)
	}
}

// A guard that died before it received the start order has started nothing.
func TestGuardDied(t *testing.T) {
	t.Parallel()
	g := begin(t)
	if err := syscall.Kill(g.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.AwaitEnd()
	started := filepath.Join(t.TempDir(), "started")
	hold, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	for _, d := range []proc.OnDeath{{Hold: hold}, {}} { // a built-in backend may have no files
		_, err = g.Begun(proc.Command{Path: "/bin/touch", Args: []string{"touch", started}, OnDeath: d}, clock.Never)
		if !errors.Is(err, proc.ErrGuardDied) {
			t.Errorf("got %v, want %v", err, proc.ErrGuardDied)
		}
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("the job was started")
	}
}

func startCommand(t *testing.T, c proc.Command) (proc.Job, error) {
	t.Helper()
	return begin(t).Begun(c, clock.Never)
}
