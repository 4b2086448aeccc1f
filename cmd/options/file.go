package options

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/leaderrun/leaderrun/cmd/output"
	"github.com/leaderrun/leaderrun/locks/program/trust"
)

// The config file: options of a run by their long names, and under "jobs" named
// jobs, each with options and a command of its own.
//
//	backend: etcd
//	ttl: 30s
//	jobs:
//	  nightly:
//	    wait: 10m
//	    command: [backup, --all]
//
// The environment and the command line have precedence over it. Whoever runs leaderrun,
// perhaps root, acts on the file, so only they or root may be able to write it.

// maxConfig is the maximum size of a config file, in bytes. Reading a file of that size
// takes a fraction of a second.
const maxConfig = 64 << 10

// A fileError says what is wrong with a config file.
type fileError struct {
	file  string
	line  int // 0: no particular line
	what  string
	cause error // fs.ErrNotExist; fs.ErrPermission, if a directory may not be entered; or nil
}

func (e *fileError) Unwrap() error { return e.cause }

// ExitStatus returns a status that no other error has.
func (e *fileError) ExitStatus() int { return output.ExitConfig }

func (e *fileError) Error() string {
	if e.line == 0 {
		return fmt.Sprintf("config file %s: %s", e.file, e.what)
	}
	return fmt.Sprintf("%s:%d: %s", e.file, e.line, e.what)
}

// A config is the content of a config file. Its zero value is that of an empty file.
type config struct {
	file   string
	top    section
	jobs   map[string]*section
	hidden string // the user's default file, if its directory may not be entered
}

// A section is the top of the file, or one job.
type section struct {
	line    int
	options map[string]rawValue // by the long names of options
	command *command            // nil: none
}

// A rawValue is one as it is written in the file, before variables are expanded.
type rawValue struct {
	text string
	line int
}

// openConfig reads the named file. Without a name it reads the first default file that
// exists; if none does, the config is empty.
//
// The user's default file is also ignored if its directory may not be entered: it is another
// user's, whose HOME we have. The system's is not ignored: if one host of a fleet did not
// read it, the locks of that host could be others than those of the fleet.
func openConfig(name string) (*config, error) {
	if name != "" {
		return loadConfig(name)
	}
	hidden := ""
	for _, file := range defaultConfigs() {
		c, err := loadConfig(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, fs.ErrPermission) && file != systemConfig:
			hidden = file
		case err != nil:
			return nil, err
		default:
			c.hidden = hidden
			return c, nil
		}
	}
	return &config{hidden: hidden}, nil
}

func loadConfig(file string) (*config, error) {
	if file == os.DevNull {
		return new(config), nil
	}
	text, err := readConfig(file)
	if err != nil {
		return nil, unread(file, err)
	}
	return parseConfig(file, text)
}

// unread returns the error for a file that could not be read. A file that does not exist is
// missing, even if others may write its directory.
func unread(file string, err error) error {
	var distrust trust.Distrust
	var inner *fs.PathError
	failed := &fileError{file: file}
	info, there := os.Stat(file)
	switch {
	case there == nil && !info.Mode().IsRegular(): // a link to a pipe, as of <(…), names no path
		failed.what = "it is not a regular file"
		return failed
	case isAbsent(err), isAbsent(there):
		failed.what, failed.cause = "it does not exist", fs.ErrNotExist
		return failed
	case errors.Is(there, fs.ErrPermission):
		failed.cause = fs.ErrPermission
	}
	if errors.As(err, &inner) {
		err = inner.Err // the message already names the file
	}
	failed.what = err.Error()
	if errors.As(err, &distrust) {
		return output.WithHint(failed, "only you or root may own the config file and write it: chmod go-w "+file)
	}
	return failed
}

func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// readConfig reads a trusted file. It makes sure that the file it reads is the one whose
// permissions it has checked.
func readConfig(file string) ([]byte, error) {
	target, seen, err := trust.File(file)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(target)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(seen, opened) {
		return nil, errors.New("it changed while it was being opened")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("it is larger than %d KiB", maxConfig>>10)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

// systemConfig is the file of all users of this machine.
const systemConfig = "/etc/leaderrun/config.yaml"

// defaultConfigs returns the files to look for, the user's first. As the XDG base
// directory specification says, also on macOS, a relative $XDG_CONFIG_HOME is ignored.
func defaultConfigs() (files []string) {
	user := filepath.Join(os.Getenv("HOME"), ".config")
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		user = dir
	}
	if file := filepath.Join(user, "leaderrun", "config.yaml"); filepath.IsAbs(file) {
		files = append(files, file)
	}
	return append(files, systemConfig)
}
