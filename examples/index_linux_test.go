package examples

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestIndex checks that README.md names each example, and none that does not exist.
func TestIndex(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(read(t, "README.md"), -1) {
		named[m[1]] = true
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "/") || strings.HasPrefix(path, "testdata/") {
			return err
		}
		if !named[path] {
			t.Errorf("README.md does not name %s", path)
		}
		delete(named, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range named {
		t.Errorf("README.md names %s, which does not exist", path)
	}
}
