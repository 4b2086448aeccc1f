package man

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMandocFindsNothing runs mandoc(1) on each page. Whether other manuals exist depends
// on what is installed; TestReferencesExist checks our own.
func TestMandocFindsNothing(t *testing.T) {
	t.Parallel()
	mandoc, err := exec.LookPath("mandoc")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal("mandoc is not installed")
	default:
		t.Skip("mandoc is not installed")
	}
	for file := range pages(t) {
		out, err := exec.Command(mandoc, "-Tlint", "-Wstyle", file).CombinedOutput()
		if len(out) == 0 && err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for line := range strings.Lines(string(out)) {
			if !strings.Contains(line, "referenced manual not found") && !strings.Contains(line, "outdated mandoc.db") {
				t.Error(strings.TrimSpace(line))
			}
		}
	}
}
