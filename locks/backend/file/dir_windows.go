package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// openDir opens the directory of the locks, or makes it if it is absent. It does not
// check who may write there.
func openDir(p place) (*os.File, error) {
	if err := makeDir(p); err != nil {
		return nil, err
	}
	return findDir(p)
}

// findDir opens the directory of the locks if it exists.
func findDir(p place) (*os.File, error) { return os.Open(p.dir) }

// peekDir, trustDir, ownership, mayWrite, lockDir and inShared check less than elsewhere.

func peekDir(path string) (*os.File, error) { return os.Open(path) }

func trustDir(*os.File) error { return nil }

func ownership(*os.File) string { return "leaderrun does not check who may write it" }

func mayWrite(*os.File) error { return nil }

func lockDir(*os.File) error { return nil }

func inShared(place) bool { return false }

// canForget is false: an open file cannot be deleted.
const canForget = false

func makeDir(p place) error {
	if p.parents {
		return os.MkdirAll(p.dir, 0o700)
	}
	err := os.Mkdir(p.dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return noParent(filepath.Dir(p.dir))
	}
	return err
}

// openIn opens a file. The prefix keeps a name such as "con" from denoting a device.
func openIn(_ *os.File, path string, flags int) (*os.File, error) {
	return os.OpenFile(`\\?\`+path, flags, 0o600)
}

// renameIn renames a file. It replaces a file with the new name.
func renameIn(_ *os.File, from, to string) error { return os.Rename(`\\?\`+from, `\\?\`+to) }

func removeIn(_ *os.File, path string) error { return os.Remove(`\\?\` + path) }

// syncDir does nothing: NTFS keeps a journal of its directories.
func syncDir(*os.File) error { return nil }
