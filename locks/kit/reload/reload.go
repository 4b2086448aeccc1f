// Package reload reads files that may be replaced while a program runs: a job may run for
// longer than a password or a certificate is valid.
package reload

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
)

// A Value is what one file says, or several that belong together. They are read each time
// that it is needed, and not only when their time has changed, which not every file system
// tells in time. While they cannot be read, or are half written, the value is as it was.
type Value[T any] struct {
	setting string
	parse   func(contents [][]byte) (T, error)
	files   []string

	mu       sync.Mutex
	contents [][]byte // what the value was made of
	value    T
	trouble  string // why the files could not be read the last time
}

// Open reads files for the first time. Errors begin with the setting that names them. Parse
// is called when their contents have changed. If the first file is "" there is no Value.
func Open[T any](setting string, parse func(contents [][]byte) (T, error), files ...string) (*Value[T], error) {
	if files[0] == "" {
		return nil, nil
	}
	v := &Value[T]{setting: setting, parse: parse, files: files}
	return v, v.read()
}

// Now returns what the files say; no Value is the zero value. The log, if it is not nil, is
// told once for each reason why they cannot be read any more.
func (v *Value[T]) Now(log *slog.Logger) (value T) {
	if v == nil {
		return value
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.read()
	trouble := fmt.Sprint(err)
	if err != nil && trouble != v.trouble && log != nil {
		log.Warn("cannot read a file anew; going on with what it said before", "err", trouble)
	}
	v.trouble = trouble
	return v.value
}

func (v *Value[T]) read() error {
	var contents [][]byte
	for _, file := range v.files {
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("%s: %w", v.setting, err)
		}
		contents = append(contents, b)
	}
	if slices.EqualFunc(contents, v.contents, bytes.Equal) {
		return nil // to parse them may take a while
	}
	value, err := v.parse(contents)
	if err != nil {
		return fmt.Errorf("%s: %w in %s", v.setting, err, strings.Join(v.files, " and "))
	}
	v.contents, v.value = contents, value
	return nil
}
