package backendtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/helper"
)

// Helper builds the helper program of the backend that is being tested, with the tags with
// which it is released, and returns what opens locks through it.
func Helper(t *testing.T, i *backend.Info, tags ...string) locks.Opener {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-tags", strings.Join(tags, ","), "-o", dir, "./"+i.Program())
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return (&helper.Programs{Libexec: dir}).Open
}
