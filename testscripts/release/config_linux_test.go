package release

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// A config is what these tests read of goreleaser.yaml.
type config struct {
	Builds   []struct{ ID, Main string }
	Archives []part
	Nfpms    []part
}

// A part is an archive or a package.
type part struct {
	ID              string
	IDs             []string // of what is built
	Files, Contents []struct{ Src string }
}

// readConfig reads it. What overrides a merged key is no duplicate, but to the library.
func readConfig(t *testing.T) (c config) {
	t.Helper()
	if err := yaml.UnmarshalWithOptions([]byte(read(t, "../../goreleaser.yaml")), &c, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEveryProgram: each program is built, and is in the archive and in a package.
func TestEveryProgram(t *testing.T) {
	t.Parallel()
	c := readConfig(t)
	mains := []string{"../../main.go"}
	for _, pattern := range []string{"../../locks/backend/*/leaderrun-*/main.go", "../../runner/*/leaderrun-*/main.go"} {
		found, _ := filepath.Glob(pattern) // it is sound
		mains = append(mains, found...)
	}
	if len(mains) < 6 {
		t.Errorf("the programs that there are: %q", mains)
	}
	for _, file := range mains {
		dir, _ := filepath.Rel("../..", filepath.Dir(file))
		id := ""
		for _, b := range c.Builds {
			if filepath.Clean(b.Main) == dir && b.ID != "bundle" {
				id = b.ID
			}
		}
		if id == "" {
			t.Errorf("%s is not built", dir)
			continue
		}
		for kind, parts := range map[string][]part{"archive": c.Archives, "package": c.Nfpms} {
			if !slices.ContainsFunc(parts, func(p part) bool { return slices.Contains(p.IDs, id) }) {
				t.Errorf("%s is in no %s", id, kind)
			}
		}
	}
}

// TestFilesAreThere: what archives and packages have besides programs is in the tree,
// but for what `make compressed` makes of it.
func TestFilesAreThere(t *testing.T) {
	t.Parallel()
	c := readConfig(t)
	checked := 0
	for _, p := range append(c.Archives, c.Nfpms...) {
		for _, f := range append(p.Files, p.Contents...) {
			if f.Src == "" || strings.HasPrefix(f.Src, "bin/compressed/") {
				continue
			}
			checked++
			if found, err := filepath.Glob(filepath.Join("../..", f.Src)); err != nil || len(found) == 0 {
				t.Errorf("%s: there is no %s: %v", p.ID, f.Src, err)
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d files were looked for", checked)
	}
}
