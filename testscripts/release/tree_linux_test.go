package release

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
)

// goreleaser returns the path at which the Makefile installs it.
func goreleaser(t *testing.T) string {
	t.Helper()
	path := filepath.Join(realserver.Cache(), "goreleaser-v2.16.0", "goreleaser")
	if _, err := os.Stat(path); err != nil {
		realserver.Missing(t, path+" is missing; `make goreleaser` installs it")
	}
	return path
}

// A place is what may differ between builds and must not matter.
type place struct {
	dir   string
	when  time.Time // the time of the files
	umask string
	env   []string
}

// A tree is a copy of this one, a repository with one commit, which is always the same.
type tree struct {
	place
	config string // goreleaser.yaml
}

var committed = time.Date(2026, 11, 21, 20, 31, 5, 0, time.UTC)

func plant(t *testing.T, p place) tree {
	t.Helper()
	copyTree(t, "../..", p)
	text, err := os.ReadFile(filepath.Join(p.dir, "goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	tr := tree{p, string(text)}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "all"},
		{"remote", "add", "origin", "https://github.com/leaderrun/leaderrun"}} {
		tr.run(t, "git", args...)
	}
	return tr
}

// copyTree leaves out built files.
func copyTree(t *testing.T, from string, p place) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if slices.Contains([]string{".git", "bin", "dist"}, rel) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil // in a worktree .git is a file
		}
		to := filepath.Join(p.dir, rel)
		if e.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		return copyFile(path, to, p.when)
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chmod", "-R", map[string]string{"022": "g-w,o-w", "002": "g+w,o-w"}[p.umask], p.dir).CombinedOutput(); err != nil {
		t.Fatalf("chmod: %v\n%s", err, out)
	}
}

func copyFile(from, to string, when time.Time) error {
	info, err := os.Lstat(from)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, text, info.Mode()); err != nil {
		return err
	}
	return os.Chtimes(to, when, when)
}

// run runs a command in the tree, as a user would there.
func (tr tree) run(t *testing.T, program string, args ...string) {
	t.Helper()
	c := exec.Command("sh", append([]string{"-c", `umask "$0" && exec "$@"`, tr.umask, program}, args...)...)
	c.Dir = tr.dir
	date := committed.Format(time.RFC3339)
	c.Env = append(slices.DeleteFunc(os.Environ(), private),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost", "GIT_COMMITTER_DATE="+date)
	c.Env = append(c.Env, tr.env...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
}

// private reports whether a variable of the tester's environment would change the build,
// or could publish something.
func private(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.HasSuffix(name, "_TOKEN") || strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "GORELEASER_") ||
		slices.Contains([]string{"GOFLAGS", "CGO_ENABLED", "MAKEFLAGS", "MAKELEVEL", "VERSION"}, name)
}

var (
	targets = regexp.MustCompile(`(?m)^    targets:\n(      - \w+\n)+`)
	formats = regexp.MustCompile(`(?m)^    formats: \[deb, rpm, apk\]$`)
	bundle  = regexp.MustCompile(`(?m)^  - <<: \*program\n    id: bundle\n(    .*\n)+`)
)

// here limits a configuration to this machine's architecture.
func here(t *testing.T, config string) string {
	t.Helper()
	if n := len(targets.FindAllString(config, -1)); n != 1 {
		t.Fatalf("goreleaser.yaml has %d lists of targets, want 1", n)
	}
	return targets.ReplaceAllString(config, "    targets: [linux_"+runtime.GOARCH+"]\n")
}

// debsOnly limits a configuration to what an upgrade needs.
func debsOnly(t *testing.T, config string) string {
	t.Helper()
	if len(formats.FindAllString(config, -1)) != 1 || len(bundle.FindAllString(config, -1)) != 1 {
		t.Fatal("goreleaser.yaml does not have one list of package formats and one bundle")
	}
	return bundle.ReplaceAllString(formats.ReplaceAllString(config, "    formats: [deb]"), "")
}

// snapshot builds a release with that tag, and returns its directory. It leaves out the
// container image, the documents about its contents, and signatures, which need programs
// and services that a machine may not have.
func (tr tree) snapshot(t *testing.T, tag, config, dist, skip string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "goreleaser.yaml")
	if err := os.WriteFile(file, []byte(config+"\ndist: "+dist+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	tr.env = append(slices.Clone(tr.env), "GORELEASER_CURRENT_TAG="+tag)
	tr.run(t, goreleaser(t), "release", "--snapshot", "--clean", "--parallelism=1", "--skip=docker,sbom,sign"+skip, "-f", file)
	return filepath.Join(tr.dir, dist)
}
