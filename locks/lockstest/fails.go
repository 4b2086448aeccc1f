package lockstest

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// Fails runs one test of the suite, by name, and reports whether it fails. It is for a
// simulated lock with a deliberate defect, because a suite that cannot fail proves
// nothing. The defects are in locks/recipe/queue (defects_test.go).
func Fails(t *testing.T, c Config, name string) (failed bool) {
	t.Helper()
	all := tests(c)
	i := slices.IndexFunc(all, func(tt test) bool { return tt.name == name })
	if i < 0 {
		t.Fatalf("there is no test %s", name)
	}
	defer func() {
		if p := recover(); p != nil { // a goroutine in the bubble never ends
			failed = true
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		r := trial.Run(t, func(tb testing.TB) { all[i].run(newEnv(tb, c, 1)) })
		if failed = r.Failed; !failed {
			t.Log(r.Log)
		}
	})
	return failed
}
