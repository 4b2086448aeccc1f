package lockstest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// suite returns one test of Run or, for locks with slots, of RunSlots.
func suite(t *testing.T, c Config, name string) test {
	t.Helper()
	all := append(tests(c), slotTests()...)
	i := slices.IndexFunc(all, func(tt test) bool { return tt.name == name })
	if i < 0 {
		t.Fatalf("there is no test %s", name)
	}
	return all[i]
}

// steadily runs a test as Run does, on a machine that is as busy as share says, and counts
// its attempts.
func steadily(t *testing.T, share float64, c Config, tt test) (r trial.Result, attempts int) {
	t.Helper()
	c.ended = &ended{}
	r = trial.Run(t, func(tb testing.TB) {
		trial.SteadyAt(tb, share, func(tb testing.TB, scale int) {
			attempts++
			tt.run(newEnv(tb, c, scale))
		})
	})
	c.ended.check(t)
	return r, attempts
}

// TestFinal shows that what nothing excuses fails a test at once, however busy the machine is,
// even if all would be well in the next attempt.
func TestFinal(t *testing.T) {
	t.Setenv(trial.RecordsVariable, "") // these repetitions are not those of the tests
	for _, tt := range []struct {
		name   string
		toy    defects
		leases bool
		test   string
		want   string
	}{
		{"two holders", defects{twoHolders: true}, false, "Exclusion", "2 hold the lock at once, and 1 may"},
		{"two holders of leases", defects{twoHolders: true}, true, "Exclusion", "2 hold the lock at once, and 1 may"},
		{"not refused", defects{twoHolders: true}, true, "TryOnHeldLock", "2 hold the lock at once, and 1 may"},
		{"a falling token", defects{fallingToken: true}, true, "TokensRise", "had been granted before it asked"},
		{"a falling token among many", defects{fallingToken: true}, false, "Exclusion", "had been granted before it asked"},
		{"a third holder of two slots", defects{twoHolders: true}, false, "AtMostTheSmallestN", "hold the lock at once, and 2 may"},
		{"a renewal after a loss", defects{lateRenewal: true}, true, "ReleaseAfterLoss", "a renewal of a was accepted, while b has token"},
		{"a record after a loss", defects{lateRecord: true}, true, "RecordAfterTakeover", "a record of a was accepted, while b has token"},
		{"a panic", defects{panics: true}, false, "TryOnHeldLock", "Release: the method panicked"},
	} {
		for busy, share := range map[string]float64{"busy": 1, "idle": 0} {
			t.Run(tt.name+"/"+busy, func(t *testing.T) {
				t.Parallel()
				c := tt.toy.config(tt.leases)
				r, attempts := steadily(t, share, c, suite(t, c, tt.test))
				if !r.Failed || attempts != 1 {
					t.Errorf("failed: %v, in %d attempts; want a failure in the first", r.Failed, attempts)
				}
				if !strings.Contains(r.Log, trial.FinalMark) || !strings.Contains(r.Log, tt.want) {
					t.Errorf("the log has no %q:\n%s", trial.FinalMark+tt.want, r.Log)
				}
			})
		}
	}
}

// TestAsleep has contenders that get no processor for two leases between a grant and the stamp
// that says so. Others have the lock then, and nothing is wrong.
func TestAsleep(t *testing.T) {
	t.Setenv(trial.RecordsVariable, "")
	for _, name := range []string{"Exclusion", "AtMostN"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := defects{asleep: 2}.config(true)
			r, _ := steadily(t, 0, c, suite(t, c, name))
			if strings.Contains(r.Log, trial.FinalMark) || !strings.Contains(r.Log, "after the end of their lease") {
				t.Errorf("failed: %v; want no final failure, and grants that prove nothing:\n%s", r.Failed, r.Log)
			}
		})
	}
}

// TestSuiteOfTheToy shows that without a defect the toy passes the tests that TestFinal runs.
func TestSuiteOfTheToy(t *testing.T) {
	t.Setenv(trial.RecordsVariable, "")
	for _, name := range []string{"Exclusion", "TryOnHeldLock", "TokensRise", "ReleaseAfterLoss", "RecordAfterTakeover", "AtMostTheSmallestN"} {
		for _, leases := range []bool{false, true} {
			c := defects{}.config(leases)
			tt := suite(t, c, name)
			if len(lacks(c, tt.needs)) > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/leases %v", name, leases), func(t *testing.T) {
				t.Parallel()
				if r, _ := steadily(t, 0, c, tt); r.Failed {
					t.Error(r.Log)
				}
			})
		}
	}
}
