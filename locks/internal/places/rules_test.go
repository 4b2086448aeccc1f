package places

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

const module = "github.com/leaderrun/leaderrun"

// A rule of the linter says where a package must not be imported.
type rule struct {
	Files []string
	Deny  []struct{ Pkg string }
}

// TestEveryRule checks that a rule keeps each backend, and each library that it links, in
// the backend's folder.
func TestEveryRule(t *testing.T) {
	t.Parallel()
	all := rules(t)
	for _, b := range known.Backends() {
		for _, problem := range unruled(all, b, libraries(t, b)) {
			t.Errorf("%s: %s", b.Scheme, problem)
		}
	}
}

func rules(t *testing.T) map[string]rule {
	t.Helper()
	var c struct {
		Linters struct {
			Settings struct {
				Depguard struct{ Rules map[string]rule }
			}
		}
	}
	if err := yaml.Unmarshal(read(t, ".golangci.yml"), &c); err != nil {
		t.Fatal(err)
	}
	return c.Linters.Settings.Depguard.Rules
}

// unruled returns the packages that no rule keeps in the backend's folder.
func unruled(all map[string]rule, b *backend.Info, libraries []string) []string {
	var problems []string
	own := "!${config-path}/locks/backend/" + b.Folder + "/**"
	for _, pkg := range append([]string{module + "/locks/backend/" + b.Folder}, libraries...) {
		found := false
		for _, r := range all {
			found = found || slices.Contains(r.Files, own) && slices.ContainsFunc(r.Deny, func(d struct{ Pkg string }) bool {
				return pkg == d.Pkg || strings.HasPrefix(pkg, d.Pkg+"/")
			})
		}
		if !found {
			problems = append(problems, fmt.Sprintf(".golangci.yml has no rule of depguard that denies %s outside of %s", pkg, own[1:]))
		}
	}
	return problems
}

// libraries returns the packages that a backend imports from others, except for the Go
// project.
func libraries(t *testing.T, b *backend.Info) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, module+"/locks/backend/"+b.Folder).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(pkg string) bool {
		first, _, _ := strings.Cut(pkg, "/")
		return !strings.Contains(first, ".") || first == "golang.org" || pkg == module || strings.HasPrefix(pkg, module+"/")
	})
}
