package realserver

import (
	"os"
	"testing"
)

// DataDir returns a new directory for a server that runs as nobody. Where there is room the
// directory is in memory: the server syncs as usual, what it has written survives its own
// death, and a slow disk delays no test.
func DataDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp(memory(), "leaderrun-test-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	Yield(tb, dir)
	return dir
}
