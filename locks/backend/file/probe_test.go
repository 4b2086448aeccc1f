package file

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
)

func probing(t *testing.T, l *Locker) locks.Servers {
	t.Helper()
	got, err := l.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Product != "file" || len(got.Servers) != 1 || got.Servers[0].Address != l.place.dir || !strings.HasPrefix(got.User, "uid ") {
		t.Errorf("got %+v", got)
	}
	if e := got.Servers[0].Error; strings.Contains(e, `"" on`) {
		t.Errorf("%q repeats the lock or the backend", e)
	}
	for _, f := range got.Findings {
		if strings.Contains(f.Text, `"" on`) {
			t.Errorf("%q repeats the lock or the backend", f.Text)
		}
		if (f.Level == "ok") != (f.Fix == "") {
			t.Errorf("a finding that is ok must have no fix, and any other must have one: %+v", f)
		}
	}
	return got
}

// found checks that there is a finding of a check with the given level, with all of the
// words in its text, and with a fix.
func found(t *testing.T, s locks.Servers, check, level string, words ...string) {
	t.Helper()
	i := slices.IndexFunc(s.Findings, func(f locks.Finding) bool { return f.Check == check && f.Level == level })
	if i < 0 {
		t.Errorf("no %s about the %s in %+v", level, check, s)
		return
	}
	for _, w := range words {
		if !strings.Contains(s.Findings[i].Text, w) {
			t.Errorf("%q does not mention %q", s.Findings[i].Text, w)
		}
	}
}

// TestProbe checks that Probe changes nothing.
func TestProbe(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	l := open(t, dir)
	s := probing(t, l)
	if len(s.Findings) != 1 || s.Findings[0].Check != "file system" || s.Servers[0].Error != "" {
		t.Errorf("got %+v", s)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a directory: %v", err)
	}
	hold(t, l)
	before := tree(t, dir)
	s = probing(t, l)
	found(t, s, "directory", "ok", "on this machine, and of nobody else", "0700")
	if s.Servers[0].Error != "" {
		t.Errorf("got %+v", s.Servers)
	}
	if after := tree(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestProbeFindsDistrust checks the findings about a directory that nobody can use.
func TestProbeFindsDistrust(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string) error{
		"is a symbolic link":            func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Symlink(dir+"2", dir)) },
		"can be written by other users": func(dir string) error { return os.Chmod(dir, 0o770) },
		"not a directory":               func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) },
	} {
		dir := testDir(t)
		pass(t, dir)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		s := probing(t, open(t, dir))
		found(t, s, "directory", "error", name)
		if got := s.Servers[0]; !strings.Contains(got.Error, name) || got.Class != "denied" && name != "not a directory" {
			t.Errorf("got %+v", got)
		}
	}
}

// TestProbeFindsForeign checks the findings about file systems on which locks cannot be
// kept, or perhaps not.
func TestProbeFindsForeign(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	pass(t, dir)
	for _, tt := range []struct {
		fs    fileSystem
		anyFS bool
		level string
	}{
		{fileSystem{"NFS", shared}, false, "error"},
		{fileSystem{"NFS", shared}, true, "error"},
		{fileSystem{"FUSE", unknown}, false, "error"},
		{fileSystem{"FUSE", unknown}, true, "warning"},
	} {
		l := open(t, dir)
		l.fileSystem, l.place.anyFS = on(tt.fs), tt.anyFS
		s := probing(t, l)
		found(t, s, "file system", tt.level, tt.fs.name)
		if got := s.Servers[0]; got.Version != tt.fs.name {
			t.Errorf("got %+v", got)
		}
	}
}
