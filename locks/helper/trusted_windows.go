package helper

import (
	"os"
	"path/filepath"
)

// trusted returns the program that path names, links resolved.
func trusted(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if fi, err := os.Stat(target); err != nil || !fi.Mode().IsRegular() {
		return "", errNoProgram
	}
	return target, nil
}
