package guard_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// output runs a job in a separate process. It returns the job's output.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// The job inherits our standard streams and all other descriptors that we were started with,
// but none that we have opened.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	c := supervised(t, "", "sh", "-c", "cat; echo err >&2; echo extra >&7")
	var stderr strings.Builder
	c.Stdin, c.Stderr = strings.NewReader("in\n"), &stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c.ExtraFiles = []*os.File{nil, nil, nil, nil, w} // 7
	out, err := c.Output()
	w.Close()
	if string(out) != "in\n" || stderr.String() != "err\n" || err != nil {
		t.Errorf("got %q, %q, %v", out, stderr.String(), err)
	}
	extra := make([]byte, 100)
	if n, _ := r.Read(extra); string(extra[:n]) != "extra\n" {
		t.Errorf("descriptor 7: got %q", extra[:n])
	}
}

// A job with NoInput does not read our input.
func TestNoInput(t *testing.T) {
	t.Parallel()
	c := supervised(t, "", "-no-input", "sh", "-c", "cat; echo none")
	c.Stdin = strings.NewReader("in\n")
	if got := output(t, c); got != "none" {
		t.Errorf("got %q, want none", got)
	}
}

func TestExitIsPassedOn(t *testing.T) {
	t.Parallel()
	var exit *exec.ExitError
	if err := supervised(t, "", "sh", "-c", "exit 42").Run(); !errors.As(err, &exit) || exit.ExitCode() != 42 {
		t.Errorf("got %v, want 42", err)
	}
}

// The job has the directory, umask and limits that we were started with. Go raises its own
// limit of open files, which the job does not inherit.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, before, job, want string }{
		{"directory", "cd " + dir + ";", "pwd", dir},
		{"umask", "umask 0137;", "umask", "0137"},
		{"open files", "ulimit -Sn 123;", "ulimit -Sn", "123"},
		{"core size", "ulimit -Sc 0;", "ulimit -Sc", "0"},
		{"an ignored signal", "trap '' HUP;", `kill -HUP $$; echo alive`, "alive"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := output(t, supervised(t, test.before, "sh", "-c", test.job)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
