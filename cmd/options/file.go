package options

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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
// What is in it counts less than the environment and the command line. It is
// acted upon by whoever runs leaderrun, root perhaps, so it must be theirs.

// maxConfig is the greatest size of a config file, in bytes. A file of that size
// takes a fraction of a second to read.
const maxConfig = 64 << 10

// A fileError is what is wrong with a config file. Its exit status is one of
// its own.
type fileError struct {
	file string
	line int // 0: none in particular
	what string

	cause error // nil: none that matters
}

func (e *fileError) Unwrap() error { return e.cause }

// ExitStatus is one that no other error has.
func (e *fileError) ExitStatus() int { return output.ExitConfig }

func (e *fileError) Error() string {
	if e.line == 0 {
		return fmt.Sprintf("config file %s: %s", e.file, e.what)
	}
	return fmt.Sprintf("%s:%d: %s", e.file, e.line, e.what)
}

// A config is a config file that was read. Its zero value is an empty one.
type config struct {
	file string
	top  section
	jobs map[string]*section
}

// A section is the top of the file, or one job.
type section struct {
	line    int
	options map[string]entry // by the long names of options
	command *command         // nil: none
}

// An entry is a value as it stands in the file, not expanded.
type entry struct {
	text string
	line int
}

// openConfig reads the named file, or if there is no name the first default file
// that exists, or none.
func openConfig(name string) (*config, error) {
	if name != "" {
		return loadConfig(name)
	}
	for _, file := range defaultConfigs() {
		if c, err := loadConfig(file); !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	return new(config), nil
}

func loadConfig(file string) (*config, error) {
	if file == os.DevNull {
		return new(config), nil
	}
	text, err := readConfig(file)
	var distrust trust.Distrust
	switch {
	case errors.Is(err, fs.ErrNotExist) || isNotDir(err):
		return nil, &fileError{file: file, what: "it does not exist", cause: fs.ErrNotExist}
	case errors.As(err, &distrust):
		return nil, output.WithHint(&fileError{file: file, what: err.Error()},
			"only you or root may own the config file and write it: chmod go-w "+file)
	case err != nil:
		var inner *fs.PathError
		if errors.As(err, &inner) {
			err = inner.Err // the file's name is said already
		}
		return nil, &fileError{file: file, what: err.Error()}
	}
	return parseConfig(file, text)
}

// readConfig reads a file that is trusted, and the very one that was looked at.
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

// defaultConfigs are the files that are looked for, the user's first.
func defaultConfigs() []string {
	var files []string
	if dir := userConfigDir(); filepath.IsAbs(dir) {
		files = append(files, filepath.Join(dir, "leaderrun", "config.yaml"))
	}
	return append(files, systemConfigs()...)
}
