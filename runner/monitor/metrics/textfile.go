package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// maxTextfile is the most of a file that is read, in bytes.
const maxTextfile = 4 << 20

// A textfile is a file for node_exporter's textfile collector. Its counters go on
// from one run to the next: each adds to what it finds in the file.
type textfile struct {
	name    string
	told    families // what of the file is from us
	existed bool     // when the run began, and made sense
}

// openTextfile looks at what is there. An error says that it makes no sense, and the
// counters begin at 0.
func openTextfile(name string) (*textfile, error) {
	t := &textfile{name: name}
	before, err := t.read()
	t.existed = err == nil && before != nil
	return t, err
}

// read returns what is in the file; nil if there is none.
func (t *textfile) read() (families, error) {
	text, err := readTextfile(t.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(text))
}

func readTextfile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxTextfile+1))
	if err == nil && len(text) > maxTextfile {
		err = fmt.Errorf("it has more than %d MiB", maxTextfile>>20)
	}
	return text, err
}

// write replaces the file as a whole: whoever reads it sees the old one or the new
// one. The new one has another name until it is complete, which the collector does
// not read, as it ends otherwise.
func (t *textfile) write(from prometheus.Gatherer, lock string, led bool) error {
	now, err := from.Gather()
	if err != nil {
		return err
	}
	defer lockDir(filepath.Dir(t.name))()
	before, err := t.read()
	if err != nil { // it made sense, or it was told that it does not
		before = nil
	}
	ours := byName(copied(now))
	var text bytes.Buffer
	for _, family := range (carryOn{before, t.told, lock, led}).merge(now) {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return err
		}
	}
	if err := replace(t.name, text.Bytes()); err != nil {
		return err
	}
	t.told = ours
	return nil
}

func replace(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644) // node_exporter is another user
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
