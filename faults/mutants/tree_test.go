package mutants

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// root is the root of the tree.
const root = "../.."

// A tree is a copy of this one, to be broken.
type tree struct{ dir string }

// copyTree copies the files that git tracks, as they are now, into a new directory. It
// does not touch this tree.
func copyTree(dir string) (tree, error) {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return tree{}, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		err := copyFile(filepath.Join(root, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // it is deleted, but not yet in git
			return tree{}, err
		}
	}
	return tree{dir}, nil
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// apply applies a patch to the tree in dir or, with "--check", checks whether it applies.
func apply(dir, file string, options ...string) error {
	c := exec.Command("git", append(append([]string{"apply"}, options...), file)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)) // a copy is not in a repository
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// A result is the outcome of a command.
type result struct {
	failed bool
	output string
	took   time.Duration
}

// run runs a command as written, without the suite's environment variables. Records that
// the suite keeps go to keep, or to the usual place if that is "".
func (t tree) run(command, keep string) (result, error) {
	c := exec.Command("sh", "-c", command)
	c.Dir = t.dir
	c.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "FAULTS_") || strings.HasPrefix(kv, "ELECTIONS_") || strings.HasPrefix(kv, "PWD=")
	})
	// Otherwise each copy would be compiled again, whatever has changed in it.
	c.Env = append(c.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath")
	if keep != "" {
		c.Env = append(c.Env, "FAULTS_KEEP="+keep)
	}
	begin := time.Now()
	out, err := c.CombinedOutput()
	r := result{failed: err != nil, output: string(out), took: time.Since(begin)}
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return r, err
	}
	return r, nil
}
