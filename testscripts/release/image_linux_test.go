package release

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/known"
)

// checkImage does what .ci/Dockerfile says, in an otherwise empty root, and runs a job
// there, as a user other than root and as the first process.
func checkImage(t *testing.T, dist string) {
	r := newRoot(t)
	dir := t.TempDir()
	output(t, "tar", "-xzf", only(t, filepath.Join(dist, "leaderrun-bundle_1*.tar.gz")), "-C", dir, "leaderrun")
	var entrypoint []string
	user, group := "0", "0"
	for line := range strings.Lines(read(t, "../../.ci/Dockerfile")) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch instruction {
		case "COPY":
			words := strings.Fields(strings.ReplaceAll(rest, "$TARGETPLATFORM", dir))
			to := filepath.Join(string(r), words[1])
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := copyFile(words[0], to, committed); err != nil {
				t.Fatal(err)
			}
		case "USER":
			user, group, _ = strings.Cut(rest, ":")
		case "ENTRYPOINT": // without a shell, so it must be JSON
			if err := json.Unmarshal([]byte(rest), &entrypoint); err != nil {
				t.Fatal(err)
			}
		}
	}
	if user == "0" || strings.ContainsFunc(user+group, func(c rune) bool { return c < '0' || c > '9' }) {
		t.Fatalf("the user of the image is %s:%s, want numbers, and not 0", user, group)
	}
	as := []string{"--setuid=" + user, "--setgid=" + group}
	status, out := r.enter(t, as, slices.Concat(entrypoint, []string{"--lock", "x", "-v", "--"}, entrypoint, []string{"check", "--for", "1s"})...)
	if status != 0 {
		t.Errorf("a job in the image: exit status %d\n%s", status, out)
	}
	status, out = r.enter(t, as, append(entrypoint, "version", "-o", "json")...)
	all := known.Schemes()
	slices.Sort(all)
	if status != 0 || !strings.Contains(out, `"built_in":["`+strings.Join(all, `","`)+`"],"helpers":[]`) {
		t.Errorf("exit status %d: %s", status, out)
	}
}
