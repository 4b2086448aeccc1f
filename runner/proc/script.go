package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// maxScripts is how many scripts in a row Linux follows, each the interpreter of the one
// before.
const maxScripts = 5

// checkScript returns an error if a command is a script, and its interpreter does not exist or
// cannot be executed. Only the kernel knows for certain. So what is unclear is not an error.
func checkScript(path string) error {
	file := path
	for range maxScripts {
		if file = interpreter(file); file == "" {
			return nil
		}
		_, err := exec.LookPath(file)
		var cause *exec.Error
		switch {
		case errors.Is(err, os.ErrNotExist):
			return NewStartError(path, os.ErrNotExist)
		case errors.As(err, &cause):
			return &StartError{Command: path, Err: fmt.Errorf("its interpreter %q: %w", file, cause.Err)}
		}
	}
	return nil
}

// interpreter returns the interpreter that the first line of a script names, as a path with a
// slash, or "" if the file is not a script, or cannot be read. The line is read as Linux does,
// from the first 256 bytes.
func interpreter(script string) string {
	f, err := os.OpenFile(script, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a FIFO
	if err != nil {
		return ""
	}
	defer f.Close()
	var head [256]byte
	n, _ := f.Read(head[:])
	line, is := bytes.CutPrefix(head[:n], []byte("#!"))
	if !is {
		return ""
	}
	line = bytes.TrimLeft(line, " \t")
	end := bytes.IndexAny(line, " \t\n\x00")
	switch {
	case end < 0 && n == len(head): // it may go on
		return ""
	case end < 0:
		end = len(line)
	}
	if end == 0 {
		return ""
	}
	name := string(line[:end])
	if filepath.Base(name) == name { // it is not searched for
		name = "." + string(filepath.Separator) + name
	}
	return name
}
