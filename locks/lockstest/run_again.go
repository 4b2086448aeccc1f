package lockstest

import (
	"slices"
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// again lists the tests of RunAgain: at least one for each method of a lock, for each
// ability, and for each way in which a call can end.
var again = []string{
	"Exclusion", "TryOnHeldLock", "WaiterWakes", "WaitingReports", "FairOrder", "CancelledWaiter", "ContextDeadline", "ReleaseIsIdempotent",
	"CloseDuringAcquire", "ConcurrentClose", "RenewAtTheGrant", "RenewKeepsThePlace", "OnlyRenewExtends", "GrantedTTL", "TokensRise",
	"EvictionIsLoss", "EvictionEndsLease", "LeaseLives", "DeadlineCountsFromSending", "HostileHolder", "Foreign", "NamesAreIndependent",
	"PartitionEndsLease/all", "ShortCutCostsNothing/replies", "RequestsDuringCut/reset", "Unreachable/all",
	"Abilities", "RequestsOfAbilities", "AbilitiesAfterClose", "InspectReports", "QueueReports", "RecordLives", "RecordNeedsTheLock",
	"RecordIsIntact", "AskReachesTheHolder", "AskTexts", "ListReports", "ListNames", "WatchReports", "WatchEnds", "BreakEndsTheTerm",
	"BreakOfAnEarlierTerm", "ProbeReports", "ForgetLeavesNothing", "AdoptGoesOn", "Leaks",
}

// RunAgain tests a backend that passes Run in another mode. It runs a selection, because the
// rest of the backend has been tested. In long tests it is Run.
func RunAgain(t *testing.T, c Config) {
	all := tests(c)
	if !tester.Long() {
		all = selected(t, all, again)
	}
	c.Recipe = false // the selection is enough
	runAll(t, c, all)
}

func selected(t *testing.T, all []test, names []string) []test {
	t.Helper()
	picked := slices.DeleteFunc(slices.Clone(all), func(tt test) bool { return !slices.Contains(names, tt.name) })
	if len(picked) != len(names) {
		t.Fatalf("of the tests %q only %d exist", names, len(picked))
	}
	return picked
}
