package helper

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend/file"
	"github.com/leaderrun/leaderrun/locks/lockstest"
)

// linked returns the abilities of the file backend without a helper, which depend on the
// system.
func linked(t *testing.T) []locks.Ability {
	t.Helper()
	l, err := file.Open(t.Context(), &url.URL{Scheme: "file", Path: t.TempDir()}, locks.Options{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all, err := l.(locks.Able).Abilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// build builds a helper for the file backend. It is built without the race detector,
// because with it each of a thousand processes would take ten times as long to start. The
// server's own concurrency is tested in this process, by TestConversation and others.
func build(t *testing.T) *Programs {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, prefix+"file")
	c := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./testdata/leaderrun-file")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, path := range []string{dir, program} { // nobody else may change it, so ignore the umask
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &Programs{Libexec: dir}
}

// TestConformance runs the suite on the file backend in a helper. The death of the helper
// ends the lock.
func TestConformance(t *testing.T) {
	programs := build(t)
	lockstest.Run(t, lockstest.Config{
		Open: programs.Open,
		URL: func(t testing.TB) *url.URL {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return &url.URL{Scheme: "file", Path: filepath.Join(dir, "locks")}
		},
		Abilities:    linked(t),
		ReportsStart: true,
		AskDelay:     2 * time.Second, // where the file backend cannot watch
		Crash: func(_ testing.TB, _ *url.URL, _ string, l locks.Lock) {
			l.(*Lock).last().process.kill()
		},
	})
}
