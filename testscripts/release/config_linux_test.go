package release

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// A config is the part of goreleaser.yaml that these tests read.
type config struct {
	Builds   []struct{ ID, Main string }
	Archives []part
	Nfpms    []part
}

// A part is an archive or a package.
type part struct {
	ID              string
	IDs             []string // of what it contains
	Files, Contents []struct{ Src string }
}

// readConfig reads the configuration. Keys that override a merged key are not duplicates,
// except for the YAML library.
func readConfig(t *testing.T) (c config) {
	t.Helper()
	if err := yaml.UnmarshalWithOptions([]byte(read(t, "../../goreleaser.yaml")), &c, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEveryProgram checks that each program is built, and is in the archive and in a
// package.
func TestEveryProgram(t *testing.T) {
	t.Parallel()
	c := readConfig(t)
	mains := []string{"../../main.go"}
	for _, pattern := range []string{"../../locks/backend/*/leaderrun-*/main.go", "../../runner/*/leaderrun-*/main.go"} {
		found, _ := filepath.Glob(pattern) // the pattern is valid
		mains = append(mains, found...)
	}
	if len(mains) < 6 {
		t.Errorf("found the programs %q", mains)
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

// TestFilesAreThere checks that additional files of archives and packages are in the
// tree, except for those that `make compressed` makes.
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
				t.Errorf("%s: no file %s: %v", p.ID, f.Src, err)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d files were checked", checked)
	}
}
