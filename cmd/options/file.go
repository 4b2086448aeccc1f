package options

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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
	cause error // nil if no caller may act on it
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

// An entry is a value as it is written in the file, before variables are expanded.
type entry struct {
	text string
	line int
}

// openConfig reads the named file. Without a name it reads the first default file that
// exists; if none does, the config is empty.
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
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil, &fileError{file: file, what: "it does not exist", cause: fs.ErrNotExist}
	case errors.As(err, &distrust):
		return nil, output.WithHint(&fileError{file: file, what: err.Error()},
			"only you or root may own the config file and write it: chmod go-w "+file)
	case err != nil:
		var inner *fs.PathError
		if errors.As(err, &inner) {
			err = inner.Err // the message already names the file
		}
		return nil, &fileError{file: file, what: err.Error()}
	}
	return parseConfig(file, text)
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

// defaultConfigs returns the files to look for, the user's first. As the XDG base
// directory specification says, also on macOS, a relative $XDG_CONFIG_HOME is ignored.
func defaultConfigs() (files []string) {
	user, system := filepath.Join(os.Getenv("HOME"), ".config"), "/etc"
	if runtime.GOOS == "windows" {
		user, system = os.Getenv("AppData"), os.Getenv("ProgramData")
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		user = dir
	}
	for _, dir := range []string{user, system} {
		if filepath.IsAbs(dir) {
			files = append(files, filepath.Join(dir, "leaderrun", "config.yaml"))
		}
	}
	return files
}
