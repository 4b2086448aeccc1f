//go:build unix

package proc_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/leaderrun/leaderrun/runner/proc"
)

// write writes a file.
func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	write(t, filepath.Join(first, "tool"), "", 0o644) // does not hide the other
	want := write(t, filepath.Join(second, "tool"), "", 0o755)
	if err := os.Mkdir(filepath.Join(first, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", first+":"+second)
	if got, err := proc.Find("tool"); got != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	var e *proc.StartError
	for _, name := range []string{"sub", "."} {
		if _, err := proc.Find(name); !errors.As(err, &e) || e.NotFound {
			t.Errorf("a directory in PATH: got %v, want permission denied, as by execvp(3)", err)
		}
	}
	if _, err := proc.Find(""); !errors.As(err, &e) || !e.NotFound {
		t.Errorf("no name: got %v, want not found", err)
	}
	t.Chdir(second)
	t.Setenv("PATH", ".")
	if got, err := proc.Find("tool"); filepath.Base(got) != "tool" || err != nil {
		t.Errorf("PATH=.: got %q, %v", got, err)
	}
}

// If PATH is not set, Find searches where execvp(3) does.
func TestFindWithoutPath(t *testing.T) {
	t.Setenv("PATH", "")
	var e *proc.StartError
	if got, err := proc.Find("sh"); !errors.As(err, &e) || !e.NotFound {
		t.Errorf("PATH is empty: got %q, %v", got, err)
	}
	if err := os.Unsetenv("PATH"); err != nil {
		t.Fatal(err)
	}
	if got, err := proc.Find("sh"); got != "/bin/sh" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := proc.Find("no-such-command"); !errors.As(err, &e) || !e.NotFound {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStartErrorText(t *testing.T) {
	t.Parallel()
	cause := errors.New("exec format error")
	for want, e := range map[string]*proc.StartError{
		`command "x\n" was not found`:                      {Command: "x\n", NotFound: true, Err: cause},
		`command "x" cannot be executed: ` + cause.Error(): {Command: "x", Err: cause},
	} {
		if e.Error() != want || !errors.Is(e, cause) {
			t.Errorf("got %v, want %s", e, want)
		}
	}
}
