// Package reload reads files that may be replaced while a program runs: a job may run for
// longer than a password or a certificate is valid. This is a package of its own because
// backends without certificates have such files, too.
package reload

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/leaderrun/leaderrun/locks/program/trust"
)

// A Value is parsed from one file, or from several that belong together. The files are read
// each time that the value is needed, and not only when their modification time has changed,
// because not every file system updates that in time. While they cannot be read, or are half
// written, the value stays as it was.
type Value[T any] struct {
	setting string
	parse   func(contents [][]byte) (T, error)
	files   []string
	secret  bool

	mu       sync.Mutex
	contents [][]byte // of the files, from which the value was parsed
	value    T
	trouble  string // why the files could not be read last time
}

// Open reads files for the first time. Errors begin with the setting that names the files.
// Parse is called whenever their contents have changed. If the first file is "", Open returns
// a nil Value.
func Open[T any](setting string, parse func(contents [][]byte) (T, error), files ...string) (*Value[T], error) {
	if files[0] == "" {
		return nil, nil
	}
	v := &Value[T]{setting: setting, parse: parse, files: files}
	return v, v.read()
}

// OpenSecret is Open for a file with a password, a token or a key. Like libpq, it refuses a
// file that others can read, and also one that others than root could have written.
func OpenSecret[T any](setting string, parse func(contents [][]byte) (T, error), file string) (*Value[T], error) {
	if file == "" {
		return nil, nil
	}
	v := &Value[T]{setting: setting, parse: parse, files: []string{file}, secret: true}
	return v, v.read()
}

// checkSecret returns an error if others have access to a file.
func checkSecret(file string) error {
	_, info, err := trust.File(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // reading it says so
	}
	if err == nil && info.Mode().Perm()&0o004 != 0 {
		err = errors.New("it can be read by anyone")
	}
	if err != nil {
		return fmt.Errorf("cannot use %s: %w", file, err)
	}
	return nil
}

// Now returns the current value; for a nil Value it is the zero value. If the files can no
// longer be read, Now logs each reason once; log may be nil.
func (v *Value[T]) Now(log *slog.Logger) (value T) {
	if v == nil {
		return value
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.read()
	trouble := fmt.Sprint(err)
	if err != nil && trouble != v.trouble && log != nil {
		log.Warn("cannot read a file again; using its previous content", "err", trouble)
	}
	v.trouble = trouble
	return v.value
}

func (v *Value[T]) read() error {
	var contents [][]byte
	for _, file := range v.files {
		if v.secret {
			if err := checkSecret(file); err != nil {
				return fmt.Errorf("%s: %w", v.setting, err)
			}
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("%s: %w", v.setting, err)
		}
		contents = append(contents, b)
	}
	if slices.EqualFunc(contents, v.contents, bytes.Equal) {
		return nil // parsing may take a while
	}
	value, err := v.parse(contents)
	if err != nil {
		return fmt.Errorf("%s: %w in %s", v.setting, err, strings.Join(v.files, " and "))
	}
	v.contents, v.value = contents, value
	return nil
}
