package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// TestCheck checks that the configuration is valid and has nothing deprecated.
func TestCheck(t *testing.T) {
	t.Parallel()
	long(t)
	if out, err := exec.Command(goreleaser(t), "check", "../../goreleaser.yaml").CombinedOutput(); err != nil {
		t.Errorf("goreleaser check: %v\n%s", err, out)
	}
}

// TestAsTheMakefile checks that a release is built with the tags and variables of the
// Makefile.
func TestAsTheMakefile(t *testing.T) {
	t.Parallel()
	makefile, config := read(t, "../../Makefile"), read(t, "../../goreleaser.yaml")
	tags := regexp.MustCompile(`(?m)^TAGS += (.*)$`).FindStringSubmatch(makefile)[1]
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^    tags: \[(.*)\]$`).FindAllStringSubmatch(config, -1) {
		got = append(got, strings.ReplaceAll(m[1], " ", ""))
	}
	if want := []string{tags, tags + ",bundle"}; !slices.Equal(got, want) {
		t.Errorf("goreleaser.yaml has the tags %q, the Makefile %q", got, want)
	}
	for _, m := range regexp.MustCompile(`-X ([\w./]+)=`).FindAllStringSubmatch(makefile, -1) {
		if !strings.Contains(config, "-X "+m[1]+"=") {
			t.Errorf("goreleaser.yaml does not set %s", m[1])
		}
	}
}

// long skips a test that needs goreleaser, which takes long to build, or takes minutes
// itself.
func long(t *testing.T) {
	t.Helper()
	if !tester.Long() {
		t.Skip("part of `make test-long`")
	}
}

// TestRelease builds a release twice, and the next one, and uses them.
func TestRelease(t *testing.T) {
	t.Parallel()
	long(t)
	goreleaser(t)
	dir := t.TempDir()
	one := plant(t, place{filepath.Join(dir, "one"), time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), "022", []string{"TZ=UTC"}})
	config := here(t, one.config)
	first := one.snapshot(t, "v1.0.0", config, "dist", "")
	t.Run("archive", func(t *testing.T) { checkArchives(t, first) })
	t.Run("cask", func(t *testing.T) { checkCask(t, first) })
	t.Run("image", func(t *testing.T) { checkImage(t, first) })
	t.Run("contents", func(t *testing.T) { checkContents(t, first) })
	t.Run("reproducible", func(t *testing.T) {
		t.Parallel()
		other := plant(t, place{filepath.Join(dir, "an", "other", "place"), time.Now(), "002", []string{"TZ=Asia/Tokyo", "HOSTNAME=other", "USER=other"}})
		sameFiles(t, first, other.snapshot(t, "v1.0.0", config, "dist", ""))
	})
	t.Run("deb", func(t *testing.T) {
		t.Parallel()
		next := one.snapshot(t, "v1.1.0", debsOnly(t, config), "bin/next", ",archive,homebrew")
		checkLife(t, first, next)
	})
}

// published returns the names of the files to publish.
func published(t *testing.T, dist string) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.tar.gz", "*.deb", "*.rpm", "*.apk", "checksums.txt", "homebrew/Casks/*.rb"} {
		found, _ := filepath.Glob(filepath.Join(dist, pattern)) // the patterns are valid
		for _, path := range found {
			name, _ := filepath.Rel(dist, path)
			names = append(names, name)
		}
	}
	// Two archives, each package in three formats, their checksums, and a cask.
	if len(names) != 2+3*(1+len(helpers))+1+1 {
		t.Errorf("%s has %d files: %q", dist, len(names), names)
	}
	return names
}

// sameFiles compares two builds byte for byte.
func sameFiles(t *testing.T, a, b string) {
	names := published(t, a)
	if others := published(t, b); !slices.Equal(names, others) {
		t.Errorf("one has %q, the other %q", names, others)
	}
	for _, name := range names {
		if x, y := read(t, filepath.Join(a, name)), read(t, filepath.Join(b, name)); x != y {
			i := 0
			for i < min(len(x), len(y)) && x[i] == y[i] {
				i++
			}
			t.Errorf("%s: %d and %d bytes, which differ from byte %d on", name, len(x), len(y), i)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// output runs a program that must succeed, and returns its output.
func output(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	c := exec.Command(program, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, &stderr)
	}
	return out
}

// only returns the one file that matches.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: got %q, %v; want one file", pattern, found, err)
	}
	return found[0]
}
