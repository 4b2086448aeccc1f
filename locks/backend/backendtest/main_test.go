package backendtest

import (
	"os"
	"testing"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/helper"
	"github.com/leaderrun/leaderrun/locks/lockstest/programs"
)

// built are all helper programs.
var built programs.Programs

func TestMain(m *testing.M) {
	code := m.Run()
	built.Remove()
	os.Exit(code)
}

// helpers returns what opens locks through the helper program of any backend.
func helpers(t *testing.T) locks.Opener {
	t.Helper()
	if err := built.Build(programs.Helpers); err != nil {
		t.Fatal(err)
	}
	return (&helper.Programs{Libexec: built.Dir()}).Open
}
