package docs

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
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

// TestVerify checks that a release is verified as SECURITY.md says that users should do.
func TestVerify(t *testing.T) {
	t.Parallel()
	root := os.DirFS("..")
	_, job, _ := strings.Cut(read(t, root, ".github/workflows/release.yml"), "\n  verify:\n")
	_, section, _ := strings.Cut(read(t, root, "SECURITY.md"), "\n## Check what you have downloaded\n")
	commands := regexp.MustCompile(`(?m)^(gh release download|gh attestation verify "oci:|gh attestation verify|cosign verify-blob|cosign verify "ghcr.io/|sha256sum --check)`).FindAllString(section, -1)
	if len(commands) < 6 {
		t.Fatalf("SECURITY.md has only the commands %q", commands)
	}
	for _, c := range commands {
		if !strings.Contains(job, c) {
			t.Errorf("the job verify does not do %q", c)
		}
	}
	if strings.Contains(job, "--ignore-missing") {
		t.Error("the job verify is content if files are missing")
	}
}
