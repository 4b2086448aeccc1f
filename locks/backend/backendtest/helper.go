package backendtest

import (
	"path"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/backend"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// Helper builds the helper program of a backend, and returns what opens locks through it.
func Helper(t *testing.T, i *backend.Info) locks.Opener {
	t.Helper()
	var built programs.Programs
	t.Cleanup(built.Remove)
	if err := built.Build(path.Join(programs.Leaderrun, "locks/backend", i.Folder, i.Program())); err != nil {
		t.Fatal(err)
	}
	return (&helper.Programs{Libexec: built.Dir()}).Open
}
