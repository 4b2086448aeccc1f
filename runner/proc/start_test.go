package proc_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// TestFindReadsScripts compares what Find says about scripts with what the kernel says.
func TestFindReadsScripts(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	plain := write(t, filepath.Join(dir, "plain"), "", 0o644)
	script := func(name, text string) string { return write(t, filepath.Join(dir, name), text, 0o755) }
	bad := script("bad", "#!/none/such\n")
	script("local", "#!/bin/sh\n")
	long := "/" + strings.Repeat("./", 150) + "bin/sh"
	for text, want := range map[string]error{
		"#!/bin/sh\n":                  nil,
		"#! \t/bin/sh -e\n":            nil,
		"#!/bin/sh":                    nil,
		"#!local\n":                    nil, // in the working directory, as the kernel has it
		"#!sh\n":                       os.ErrNotExist,
		"#!/none/such -e\n":            os.ErrNotExist,
		"#! \t/none/such\tx\n":         os.ErrNotExist,
		"#!/none/such":                 os.ErrNotExist,
		"#!/none/such\x00\n":           os.ErrNotExist,
		"#!" + bad + "\n":              os.ErrNotExist,
		"#!" + plain + "\n":            os.ErrPermission,
		"#!" + dir + "\n":              os.ErrPermission,
		"#!" + long + "\n":             nil, // the shell runs it
		"#!" + "/none" + long + " x\n": nil,
		"#!\n":                         nil,
		"":                             nil,
	} {
		name := script("script", text)
		_, err := proc.Find(name)
		if want == nil && err != nil || !errors.Is(err, want) && !(want == os.ErrPermission && errors.Is(err, syscall.EISDIR)) && !(want == os.ErrNotExist && isNotFound(err)) {
			t.Errorf("%q: got %v, want %v", text, err, want)
		}
		pid, kernel := proc.Spawn(proc.Command{Path: name, Args: []string{name}, NoInput: true}, &syscall.SysProcAttr{})
		if kernel == nil {
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
		if !errors.Is(kernel, want) {
			t.Errorf("%q: the kernel says %v, want %v", text, kernel, want)
		}
	}
	if err := syscall.Mkfifo("fifo", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := proc.Find("./fifo"); err != nil { // and does not wait for a writer
		t.Errorf("a FIFO: %v", err)
	}
}

func isNotFound(err error) bool {
	var e *proc.StartError
	return errors.As(err, &e) && e.NotFound
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
