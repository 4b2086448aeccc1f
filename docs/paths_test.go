package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestPaths checks that each file and directory that the documents for contributors name
// exists.
func TestPaths(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("..")
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "docs/writing-a-backend.md"} {
		named := pathsOf(t, tree, read(t, tree, page))
		if len(named) < 2 {
			t.Errorf("%s: found only %q", page, named)
		}
		for _, name := range absent(t, tree, named) {
			if strings.HasPrefix(name, "locks/backend/demo/") { // an example of a new backend
				continue
			}
			t.Errorf("%s names %s, which does not exist", page, name)
		}
	}
}

func TestPathsFindsMissing(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"main.go": {}, "cmd/run/run.go": {}, "cmd/view/view.go": {}, "docs/doc.go": {}}
	for _, tt := range []struct{ text, missing string }{
		{"`cmd/run/run.go`, `cmd/run`, `cmd/`, `cmd/v*/*.go` and `run.go`", "[]"},
		{"`cmd/run/none.go` `cmd/none` `cmd/none*.go` `none.go`", "[cmd/none cmd/none*.go cmd/run/none.go none.go]"},
		{"`net/http`, `/etc/cmd`, `leaderrun cmd/none` and cmd/none", "[]"},
		{"```\nmain.go   a\ncmd/      b\n  run/    none/ c\n          none/\n  view/   d\ndocs/\n```\n", "[]"},
		{"```\nnone.go   a\ncmd/      b\n  none/   c\n  run/    d\n    view/ e\nrun/      f\n```\n", "[cmd/none cmd/run/view none.go run]"},
	} {
		if got := fmt.Sprint(absent(t, tree, pathsOf(t, tree, tt.text))); got != tt.missing {
			t.Errorf("%q: got %s missing, want %s", tt.text, got, tt.missing)
		}
	}
}

var (
	quoted   = regexp.MustCompile("`([\\w.*/-]+)`")
	mapped   = regexp.MustCompile(`(?m)^((?:  ){0,4})([\w.-]+(?:/|\.go))(?: .*)?$`)
	fileName = regexp.MustCompile(`^\w[\w*-]*\.(?:go|md)$`)
)

// pathsOf returns the paths that a page names: those of its map, which is its first block,
// and in its prose what is in backquotes and looks like a path of the tree. The name of a
// file without its directory counts as a path.
func pathsOf(t *testing.T, tree fs.FS, page string) []string {
	t.Helper()
	var all []string
	var parents [5]string
	for _, m := range mapped.FindAllStringSubmatch(fenced.FindString(page), -1) {
		depth := len(m[1]) / 2
		name := path.Join(append(slices.Clone(parents[:depth]), m[2])...)
		parents[depth] = m[2]
		all = append(all, name)
	}
	for _, m := range quoted.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		top, _, inside := strings.Cut(m[1], "/")
		_, err := fs.Stat(tree, top)
		if inside && err == nil && top != "" || fileName.MatchString(m[1]) {
			all = append(all, path.Clean(m[1]))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// absent returns those of the paths that the tree does not have.
func absent(t *testing.T, tree fs.FS, paths []string) (none []string) {
	t.Helper()
	files := map[string]bool{}
	err := fs.WalkDir(tree, ".", func(_ string, d fs.DirEntry, err error) error {
		files[d.Name()] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range paths {
		found, err := fs.Glob(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 && !(fileName.MatchString(name) && files[name]) {
			none = append(none, name)
		}
	}
	return none
}
