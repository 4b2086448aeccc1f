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
	"EvictionIsLoss", "EvictionEndsLease", "LeaseLives", "DeadlineCountsFromSending", "HostileHolder", "NamesAreIndependent",
	"PartitionEndsLease/all", "ShortCutCostsNothing/replies", "RequestsDuringCut/reset", "Unreachable/all",
	"Abilities", "RequestsOfAbilities", "AbilitiesAfterClose", "InspectReports", "QueueReports", "RecordLives", "RecordNeedsTheLock",
	"RecordIsIntact", "AskReachesTheHolder", "AskTexts", "ListReports", "ListNames", "WatchReports", "WatchEnds", "BreakEndsTheTerm",
	"BreakOfAnEarlierTerm", "ProbeReports", "ForgetLeavesNothing", "AdoptGoesOn", "Leaks",
}

// throughHelper lists the tests of RunThroughHelper: at least one for each method of a lock
// and for each ability. Package helper runs all tests through a helper of the file backend.
var throughHelper = []string{
	"TryOnHeldLock", "WaiterWakes", "FairOrder", "CancelledWaiter", "ContextDeadline", "CloseDuringAcquire", "RenewKeepsThePlace", "GrantedTTL",
	"EvictionEndsLease", "LeaseLives", "PartitionEndsLease/all", "RequestsDuringCut/reset", "Unreachable/all", "Abilities", "AbilitiesAfterClose",
	"InspectReports", "QueueReports", "RecordLives", "AskReachesTheHolder", "ListReports", "WatchReports", "WatchEnds", "BreakEndsTheTerm",
	"ProbeReports", "ForgetLeavesNothing", "AdoptGoesOn", "Leaks",
}

// RunAgain tests a backend that passes Run in another mode. It runs a selection, because the
// rest of the backend has been tested. In long tests it is Run.
func RunAgain(t *testing.T, c Config) { runSelected(t, c, again) }

// RunThroughHelper tests a backend that passes Run through its helper program. It runs a
// selection, because the backend and the protocol have been tested. In long tests it is Run.
func RunThroughHelper(t *testing.T, c Config) { runSelected(t, c, throughHelper) }

func runSelected(t *testing.T, c Config, names []string) {
	all := tests(c)
	if !tester.Long() {
		all = selected(t, all, names)
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
