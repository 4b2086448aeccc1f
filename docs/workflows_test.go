package docs

import (
	"io/fs"
	"os"
	"regexp"
	"testing"
)

// An action must be pinned by its commit, with its tag in a comment: a tag can be moved
// to other code, and that code would run with our rights.
var (
	using  = regexp.MustCompile(`(?m)^[ \t-]*uses:[ \t]*(.*)$`)
	pinned = regexp.MustCompile(`^(\./\S+|[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)+)$`)
)

func TestActionsArePinned(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../.github")
	files, err := fs.Glob(tree, "workflows/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("workflows: %q, %v", files, err)
	}
	for _, name := range files {
		for _, m := range using.FindAllStringSubmatch(read(t, tree, name), -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s: %q is not pinned by its commit, with the version in a comment", name, m[1])
			}
		}
	}
}
