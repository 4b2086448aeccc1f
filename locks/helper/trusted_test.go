package helper

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/program/trust"
)

// TestTrusted checks that trusted refuses what somebody else could have put there.
func TestTrusted(t *testing.T) {
	t.Parallel()
	root := os.Geteuid() == 0
	for _, tt := range []struct {
		name     string
		mode     os.FileMode // of the file
		dir      os.FileMode
		uid, gid int // of the file; -1 means ours
		refused  bool
	}{
		{"ours alone", 0o700, 0o755, -1, -1, false},
		{"readable", 0o755, 0o755, -1, -1, false},
		{"written by anyone", 0o757, 0o755, -1, -1, true},
		{"in an open directory", 0o755, 0o777, -1, -1, true},
		{"in a sticky directory", 0o755, 0o777 | fs.ModeSticky, -1, -1, false},
		{"in a group's directory", 0o755, 0o775, -1, -1, false},
		{"of another user", 0o755, 0o755, 12345, -1, true},
		{"of another user in a sticky directory", 0o755, 0o777 | fs.ModeSticky, 12345, -1, true},
		{"of a private group", 0o775, 0o755, 0, 0, false},
		{"of a shared group", 0o775, 0o755, 0, 12345, true},
		{"readable by a shared group", 0o755, 0o755, 0, 12345, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !root && tt.uid >= 0 {
				t.Skip("only root can give files away")
			}
			dir, path := put(t, "zk", 0o755)
			for _, err := range []error{os.Lchown(path, tt.uid, tt.gid), os.Chmod(path, tt.mode), os.Chmod(dir, tt.dir)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			elsewhere, _ := put(t, "zk", 0o755)
			if _, err := new(Programs).find([]string{dir, elsewhere}, "zk"); errors.Is(err, locks.ErrDenied) != tt.refused {
				t.Errorf("got %v; refused should be %v", err, tt.refused)
			}
			// The same through a link in a good directory.
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			got, err := trusted(link)
			if errors.As(err, new(trust.Distrust)) != tt.refused || !tt.refused && got != path {
				t.Errorf("through a link: got %q, %v; refused should be %v", got, err, tt.refused)
			}
		})
	}
}

// TestTrustedLink checks that trusted refuses a link that others could have made, however
// good its target.
func TestTrustedLink(t *testing.T) {
	t.Parallel()
	_, path := put(t, "zk", 0o755)
	open := t.TempDir()
	link := filepath.Join(open, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := trusted(link); err != nil {
		t.Errorf("our link: %v", err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := trusted(link); !errors.As(err, new(trust.Distrust)) {
		t.Errorf("a link in an open directory: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := errors.Join(os.Chmod(open, 0o755), os.Lchown(link, 12345, -1)); err != nil {
		t.Fatal(err)
	}
	if _, err := trusted(link); !errors.As(err, new(trust.Distrust)) {
		t.Errorf("another user's link: %v", err)
	}
}

// TestTrustedWay checks that trusted refuses a program that others could replace, because
// they own a directory on the way or a link that is followed on it.
func TestTrustedWay(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	_, good := put(t, "zk", 0o755)
	below, link := filepath.Join(t.TempDir(), "theirs/ours"), filepath.Join(t.TempDir(), "link")
	hop := filepath.Join(below, "hop")
	for _, err := range []error{
		os.MkdirAll(below, 0o755), os.Symlink(good, hop), os.Symlink(hop, link), os.Link(good, filepath.Join(below, "program")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ways := []string{filepath.Join(below, "program"), hop, link, filepath.Join(below, "../ours/program")}
	for _, way := range ways {
		if _, err := trusted(way); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
	if err := os.Chown(filepath.Dir(below), 12345, -1); err != nil {
		t.Fatal(err)
	}
	for _, way := range ways {
		if got, err := trusted(way); !errors.As(err, new(trust.Distrust)) {
			t.Errorf("%s, by way of another user's directory: got %q, %v", way, got, err)
		}
	}
}
