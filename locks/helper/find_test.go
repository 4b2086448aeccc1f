package helper

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/trust"
)

// put writes a program into a new directory.
func put(t *testing.T, scheme string, mode os.FileMode) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, prefix+scheme)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

func TestFind(t *testing.T) {
	t.Parallel()
	first, path := put(t, "zk", 0o755)
	second, _ := put(t, "zk", 0o755)
	plainFile, _ := put(t, "zk", 0o644)
	file := filepath.Join(first, "leaderrun-zk")
	got, err := new(Programs).find([]string{t.TempDir(), filepath.Join(first, "none"), file, plainFile, first, second}, "zk")
	if err != nil || got != path {
		t.Errorf("got %q, %v; want %q", got, err, path)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	p := &Programs{Known: []string{"etcd", "zk"}, Linked: []string{"file"}}
	dirs := []string{t.TempDir()}
	_, err := p.find(dirs, "etcd")
	checkClass(t, "known and missing", err, locks.ErrUnavailable)
	if hint := locks.Hint(err); !strings.Contains(hint, "go install") || !strings.Contains(hint, "leaderrun-etcd") {
		t.Errorf("hint: %q", hint)
	}
	third, _ := put(t, "third", 0o755)
	monitor, _ := put(t, MonitorName, 0o755)
	for _, scheme := range []string{"etdc", "x/../leaderrun-third", "e/d", "", "a\x00b", MonitorName} {
		_, err := p.find([]string{third, monitor}, scheme)
		checkClass(t, "an unknown scheme", err, locks.ErrUsage)
		if scheme == "etdc" && err.Error() != `unknown backend "etdc" (did you mean "etcd"?); known: etcd, file, third, zk` {
			t.Errorf("got %v", err)
		}
	}
	u := &url.URL{Scheme: "etcd"}
	_, err = p.Open(t.Context(), u, options())
	if want := `open "jobs/nightly" on etcd: the helper program leaderrun-etcd is not installed`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Open(ended, u, options())
	checkClass(t, "open with a context that has ended", err, context.Canceled)
}

// TestWhere checks that the directories are searched in order, and that relative ones are
// skipped. It is not parallel, because it sets variables of the whole process.
func TestWhere(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	abs := func(name string) string { return filepath.Join(t.TempDir(), name) }
	a, b, c, d := abs("a"), abs("b"), abs("c"), abs("d")
	t.Setenv("LEADERRUN_LIBEXEC", a)
	t.Setenv("PATH", strings.Join([]string{c, ".", "", "bin", d}, string(filepath.ListSeparator)))
	if got, want := (&Programs{Libexec: b}).dirs(), []string{filepath.Dir(self), a, b, c, d}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	t.Setenv("LEADERRUN_LIBEXEC", "relative")
	if got, want := new(Programs).dirs(), []string{filepath.Dir(self), c, d}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	third, path := put(t, "third", 0o755)
	loose, _ := put(t, "loose", 0o777)
	_, _ = put(t, "no+t.plain", 0o644)
	t.Setenv("PATH", third+string(filepath.ListSeparator)+loose)
	list := (&Programs{Known: []string{"etcd"}}).List()
	var schemes []string
	for _, p := range list {
		schemes = append(schemes, p.Scheme)
		switch {
		case p.Scheme == "third" && (p.Path != path || p.Err != nil):
			t.Errorf("got %+v, want %q", p, path)
		case p.Scheme == "etcd" && (p.Path != "" || p.Err == nil || p.Err.Error() != "the helper program leaderrun-etcd is not installed"):
			t.Errorf("got %+v", p)
		case p.Scheme == "loose" && (p.Path != "" || !errors.As(p.Err, new(trust.Distrust))):
			t.Errorf("got %+v", p)
		}
	}
	if want := []string{"etcd", "loose", "third"}; !slices.Equal(schemes, want) {
		t.Errorf("got %q, want %q", schemes, want)
	}
}

// TestNotExecutable: the file was a program when Programs found it.
func TestNotExecutable(t *testing.T) {
	t.Parallel()
	_, path := put(t, "broken", 0o755)
	if err := os.WriteFile(path, []byte{0, 1, 2}, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := new(Programs).open(path, &url.URL{Scheme: "broken"}, options())
	checkClass(t, "open", err, locks.ErrUnavailable)
	_, err = new(Programs).open(path, &url.URL{Scheme: "broken", Path: strings.Repeat("x", maxURL)}, options())
	checkClass(t, "open of a long URL", err, locks.ErrUsage)
}
