package places

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// tree is the root of the tree.
func tree() fs.FS { return os.DirFS("../../..") }

// imaginary is a backend that does not exist.
var imaginary = &backend.Info{
	Scheme: "imaginary", Product: "Imaginary Store", Folder: "imaginary", Unit: "imaginary.service",
	Params:    []backend.Param{{Name: "imagined"}},
	Variables: []backend.Variable{{Name: "IMAGINARY_HOSTS"}},
}

func TestNothingIsStale(t *testing.T) {
	t.Parallel()
	for _, file := range Files() {
		old := read(t, file)
		now, err := Generate(file, old, known.Backends())
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(old, now) {
			t.Errorf("%s is out of date: run make generate", file)
		}
	}
}

// TestEveryPlace finds places that lack a backend.
func TestEveryPlace(t *testing.T) {
	t.Parallel()
	for _, b := range known.Backends() {
		for what, p := range byHand {
			if missing := p.lacks(tree(), b); len(missing) > 0 {
				t.Errorf("%s: %s: %s lacks %q", b.Scheme, what, p.file(b), missing)
			}
		}
	}
}

// TestEveryHelperIsListed checks that each program in a backend's folder belongs to a
// known backend.
func TestEveryHelperIsListed(t *testing.T) {
	t.Parallel()
	programs, err := fs.Glob(tree(), "locks/backend/*/leaderrun-*/main.go")
	if err != nil || len(programs) < 3 {
		t.Errorf("found %q, %v", programs, err)
	}
	for _, file := range programs {
		program := path.Base(path.Dir(file))
		if !slices.ContainsFunc(known.Backends(), func(b *backend.Info) bool { return b.Program() == program }) {
			t.Errorf("%s belongs to a backend that is not in package known", file)
		}
	}
}

// TestOwnDescription checks that a backend reads no description but its own.
func TestOwnDescription(t *testing.T) {
	t.Parallel()
	described := regexp.MustCompile(`\bknown\.([A-Z]\w*)`)
	for _, b := range known.Backends() {
		n := 0
		err := fs.WalkDir(tree(), "locks/backend/"+b.Folder, func(file string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(file) != ".go" {
				return err
			}
			for _, m := range described.FindAllSubmatch(read(t, file), -1) {
				if n++; !strings.HasPrefix(strings.ToLower(string(m[1])), b.Folder) {
					t.Errorf("%s: it uses %s, which is not of the backend %s", file, m[0], b.Scheme)
				}
			}
			return nil
		})
		if err != nil || n == 0 {
			t.Errorf("%s: it does not use its description: %v", b.Folder, err)
		}
	}
}

// TestEveryTable checks that a table of several backends has all of them.
func TestEveryTable(t *testing.T) {
	t.Parallel()
	tables := 0
	for _, page := range pages(t) {
		text := string(read(t, page))
		for _, scheme := range unlisted(text, known.Backends()) {
			t.Errorf("%s has a table of backends that lacks a row for %s", page, scheme)
		}
		tables += len(unlisted(text, append(known.Backends(), imaginary)))
	}
	if tables < 5 {
		t.Errorf("only %d tables of backends were found", tables)
	}
}

// TestNothingCanBeForgotten checks that each place is found to lack a backend that has
// only a description.
func TestNothingCanBeForgotten(t *testing.T) {
	t.Parallel()
	for what, p := range byHand {
		if wants, lacks := len(p.wants(imaginary)), len(p.lacks(tree(), imaginary)); wants == 0 || lacks != wants {
			t.Errorf("%s: lacks %d of %d texts for the imaginary backend", what, lacks, wants)
		}
	}
	for _, file := range Files() {
		old := read(t, file)
		for name := range generated()[file] {
			now, err := Generate(file, old, append(known.Backends(), imaginary))
			if err != nil || bytes.Contains(partNamed(now, name), []byte("imaginary")) == bytes.Contains(partNamed(old, name), []byte("imaginary")) {
				t.Errorf("%s: the part %q does not change with a backend: %v", file, name, err)
			}
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	t.Parallel()
	file := Files()[0]
	old := read(t, file)
	for what, bad := range map[string][]byte{
		"a part is missing": nil,
		"a part has no end": bytes.Replace(old, []byte("end generated"), []byte("end"), 1),
		"an unknown part":   append(bytes.Clone(old), "# generated: other\n# end generated\n"...),
	} {
		if _, err := Generate(file, bad, known.Backends()); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// partNamed returns the generated part with a name.
func partNamed(text []byte, name string) []byte {
	for _, m := range part.FindAllSubmatch(text, -1) {
		if string(m[2]) == name {
			return m[3]
		}
	}
	return nil
}

// pages returns the documents for users.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := fs.Glob(tree(), path.Join("docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat([]string{"README.md"}, docs)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := fs.ReadFile(tree(), file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
