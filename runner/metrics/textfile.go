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
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// maxTextfile is the most of a file that is read, in bytes.
const maxTextfile = 4 << 20

// A textfile is a file for node_exporter's textfile collector. Its counters go on
// from one run to the next: each adds to what it found in the file.
type textfile struct {
	name    string
	before  map[string]*dto.MetricFamily // what was in it when the run began
	existed bool                         // and made sense
}

// openTextfile reads what is there. An error says that it makes no sense, and the
// counters begin at 0.
func openTextfile(name string) (*textfile, error) {
	t := &textfile{name: name}
	text, err := readTextfile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	before, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return t, err
	}
	t.before, t.existed = before, true
	return t, nil
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
func (t *textfile) write(from prometheus.Gatherer, lock string) error {
	now, err := from.Gather()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, family := range carryOn(t.before, now, lock) {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return err
		}
	}
	return replace(t.name, text.Bytes())
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
