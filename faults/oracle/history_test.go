package oracle

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/leaderrun/leaderrun/faults/trace"
)

// TestRead reads a history from files.
func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, life := filepath.Join(dir, "trace"), filepath.Join(dir, "life")
	text := `{"kind":"began","pid":3,"at":1}` + "\n" + `{"kind":"start","what":"job","token":7,"leaderrun":3,"at":5,"life":"` + life + `"}` + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a life: got %v, want an error", err)
	}
	if err := trace.WriteLife(life, trace.Span{First: 4, Last: 9}); err != nil {
		t.Fatal(err)
	}
	h, err := Read(file)
	if err != nil || len(h.Entries) != 2 || len(h.Stays) != 1 || h.Stays[0].Last != 9 || h.began() != 1 {
		t.Errorf("got %+v, %v", h, err)
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: got %v, want an error", err)
	}
}
