package trust

import (
	"io/fs"
	"os"
	"path/filepath"
)

// File returns the regular file that path names, with links resolved. It does not check
// here who else could write it.
func File(path string) (string, fs.FileInfo, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, err
	}
	fi, err := os.Stat(target)
	switch {
	case err != nil:
		return "", nil, err
	case !fi.Mode().IsRegular():
		return "", nil, errNoFile
	}
	return target, fi, nil
}
