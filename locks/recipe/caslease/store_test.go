package caslease_test

import (
	"testing"
	"testing/synctest"

	"github.com/leaderrun/leaderrun/locks/kit/causes"
	"github.com/leaderrun/leaderrun/locks/lockstest"
	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease"
	"github.com/leaderrun/leaderrun/locks/recipe/caslease/storetest"
)

// storeConfig makes the suite for stores test the simulated one.
func storeConfig(s *sim) storetest.Config {
	return storetest.Config{
		Expiry: s.expiry,
		Open:   func(testing.TB) caslease.Store { return s.store("host", "p") },
		FailNext: func(_ testing.TB, k causes.Kind) {
			f := Fault{LoseReply: true}
			if k == causes.Throttled {
				f = Fault{Err: refuse(k, "too soon")}
			}
			s.NextOf(f, "create", "swap")
		},
		Unreachable: func(testing.TB) caslease.Store {
			s.sever(s.pathTo("nowhere"), lockstest.CutReset)
			return s.store("nowhere", "p")
		},
		Hostile: []func(testing.TB, caslease.Key){
			func(_ testing.TB, k caslease.Key) { s.SetState(id("p", k), "?") },
		},
	}
}

// TestSimulatedStore: the store of these tests keeps the promises of a store.
func TestSimulatedStore(t *testing.T) {
	for _, e := range []caslease.Expiry{caslease.ByWatching, caslease.ByStamps, caslease.ByClock} {
		for _, tt := range storetest.Tests() {
			t.Run(tt.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSim(e)
					s.watched = true
					tt.Run(t, storeConfig(s))
				})
			})
		}
	}
}

// storeDefects are deliberate defects of the simulated store, each with a test that must find
// it.
var storeDefects = []struct{ defect, caught string }{
	{"absent-is-an-error", "Absent"},
	{"swap-creates", "Absent"},
	{"create-overwrites", "Create"},
	{"create-overwrites", "OneWins"},
	{"answer-lags", "Create"},
	{"swap-ignores-version", "Refused"},
	{"swap-ignores-version", "NoUpdateIsLost"},
	{"refused-swap-writes-text", "Refused"},
	{"refused-is-unknown", "Refused"},
	{"text-lost", "Swap"},
	{"version-by-content", "Swap"},
	{"version-by-cell", "Delete"},
	{"delete-ignores-version", "Refused"},
	{"states-are-cut", "Values"},
	{"empty-text-is-none", "Values"},
	{"names-fold-case", "CellsApart"},
	{"parts-are-one", "CellsApart"},
	{"reads-lag", "ReadsAreFresh"},
	{"stamp-of-creation", "Clock"},
	{"tokens-begin-again", "Tokens"},
	{"floor-falls", "Tokens"},
	{"next-is-beyond", "Tokens"},
	{"lost-is-success", "LostAnswer"},
	{"all-is-unknown", "Throttled"},
	{"all-is-unknown", "Unreachable"},
	{"list-has-requests", "List"},
	{"list-is-one-page", "List"},
	{"deletions-are-silent", "Watch"},
}

// TestStoreDefects: the suite for stores finds defects.
func TestStoreDefects(t *testing.T) {
	for _, d := range storeDefects {
		t.Run(d.defect+"/"+d.caught, func(t *testing.T) {
			for _, tt := range storetest.Tests() {
				if tt.Name == d.caught && !finds(t, d.defect, tt) {
					t.Errorf("%s passes %s", d.defect, d.caught)
				}
			}
		})
	}
}

// finds reports whether a test finds a defect.
func finds(t *testing.T, defect string, tt storetest.Test) (failed bool) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(caslease.ByClock)
		s.watched, s.defect = true, defect
		failed = trial.Run(t, func(tb testing.TB) { tt.Run(tb, storeConfig(s)) }).Failed
	})
	return failed
}

// TestStoreOfExample: the store in the example keeps the promises of a store.
func TestStoreOfExample(t *testing.T) {
	s := &shelf{cells: map[caslease.Key]caslease.Cell{}}
	storetest.Run(t, storetest.Config{Open: func(testing.TB) caslease.Store { return s }})
}
