package operate

import (
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/cmd/view"
)

// TestChangeEnvironment: each variable is set once, and those of an enclosing run or watch
// are removed.
func TestChangeEnvironment(t *testing.T) {
	t.Parallel()
	ours := []string{"PATH=/bin", "LEADERRUN_TOKEN=1", "LEADERRUN_LOCK_NAME=watcher", "LEADERRUN_REASON=old", "LEADERRUN_SOCKET=/s"}
	names := func(env []string) (all []string) {
		for _, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			all = append(all, name)
		}
		slices.Sort(all)
		return all
	}
	got := names(changeEnvironment(slices.Clone(ours), view.Change{Kind: view.Reachable}))
	if want := []string{"LEADERRUN_EVENT", "LEADERRUN_PREVIOUS", "LEADERRUN_SOCKET", "PATH"}; !slices.Equal(got, want) {
		t.Errorf("of the backend: %q; want %q", got, want)
	}
	env := changeEnvironment(slices.Clone(ours), view.Change{Kind: view.Free, Lock: &view.Lock{Name: "x"}})
	if got := names(env); len(slices.Compact(got)) != len(env) || !slices.Contains(env, "LEADERRUN_LOCK_NAME=x") {
		t.Errorf("of a lock: %q", env)
	}
}
