package metrics

import (
	"bytes"
	"crypto/rand"
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

// maxTextfile is the size of the largest file that we read, in bytes.
const maxTextfile = 4 << 20

// A textfile is a file for node_exporter's textfile collector. Its counters continue from
// one run to the next: each run adds to what it finds in the file.
type textfile struct {
	name    string
	ours    families // our own part of the file
	existed bool     // the file was there, and valid, when the run began
}

// openTextfile reads the file, if there is one. If it is invalid, the error says why, and
// the counters begin at 0.
func openTextfile(name string) (*textfile, error) {
	t := &textfile{name: name}
	before, err := t.read()
	t.existed = err == nil && before != nil
	return t, err
}

// read returns the metrics in the file, or nil if there is no file.
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
	defer func() { _ = f.Close() }() // we only read it
	text, err := io.ReadAll(io.LimitReader(f, maxTextfile+1))
	if err == nil && len(text) > maxTextfile {
		err = fmt.Errorf("it has more than %d MiB", maxTextfile>>20)
	}
	return text, err
}

// write replaces the file as a whole, so that readers see the old one or the new one. Until
// it is complete, the new one has a name that the collector does not read.
func (t *textfile) write(from prometheus.Gatherer, lock string, led bool) error {
	now, err := from.Gather()
	if err != nil {
		return err
	}
	defer lockDir(filepath.Dir(t.name))()
	before, err := t.read()
	if err != nil { // that it is invalid was reported before
		before = nil
	}
	written := byName(copied(now))
	var text bytes.Buffer
	for _, family := range (carryOn{before, t.ours, lock, led}).merge(now) {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return err
		}
	}
	if err := replace(t.name, text.Bytes()); err != nil {
		return err
	}
	t.ours = written
	return nil
}

// replace writes the file with the mode that the umask allows: node_exporter runs as another
// user, and os.CreateTemp would let only us read it.
func replace(name string, text []byte) error {
	temp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text())
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // that others can read it is the point
	if err != nil {
		return err
	}
	_, err = f.Write(text)
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
