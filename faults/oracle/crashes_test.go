package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCrashes(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	const text = `leaderrun: faults: acquired
runtime: failed to create new OS thread (have 9 already; errno=11)
runtime: may need to increase max user processes (ulimit -u)
fatal error: newosproc

goroutine 1 [running]:
leaderrun: leaderrun-etcd: panic: assignment to entry in nil map
leaderrun: error: job ended by SIGTERM
SIGQUIT: quit
`
	if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	v := Judge(History{}, Options{Logs: []string{log, log + "-of-nobody"}})
	want := []string{
		"crash: fatal error: newosproc",
		"crash: leaderrun: leaderrun-etcd: panic: assignment to entry in nil map",
		"crash: SIGQUIT: quit",
	}
	if !slices.Equal(v.Wrong, want) {
		t.Errorf("got %q, want %q", v.Wrong, want)
	}
}
