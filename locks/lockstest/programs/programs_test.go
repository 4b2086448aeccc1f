package programs

import (
	"os"
	"strings"
	"testing"
)

// TestAsTheMakefile checks that the tags are those of `make build`.
func TestAsTheMakefile(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	if want := "\nTAGS    = " + tags + "\n"; !strings.Contains(string(makefile), want) {
		t.Errorf("the Makefile has no line %q", want)
	}
}
