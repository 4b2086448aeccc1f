package lockstest

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/leaderrun/leaderrun/locks/lockstest/trial"
)

// mutants are deliberate defects of the reference backend, and for each the
// test, among others, that must fail because of it.
var mutants = []struct{ defect, caught string }{
	{"grants-two", "Exclusion"},
	{"waits-for-nothing", "Exclusion"},
	{"token-by-arrival", "Exclusion"},
	{"unfair", "FairOrder"},
	{"try-leaves-place", "TryOnHeldLock"},
	{"held-without-status", "TryOnHeldLock"},
	{"anonymous", "TryOnHeldLock"},
	{"takes-itself-for-the-holder", "TryOnHeldLock"},
	{"wakes-nobody", "WaiterWakes"},
	{"waiting-must-be-set", "SilentWaiter"},
	{"waiting-is-silent", "WaitingTells"},
	{"waiting-hides-lease", "WaitingTells"},
	{"cancel-keeps-place", "CancelledWaiter"},
	{"cancel-keeps-place", "CancelAtRandomMoments"},
	{"cancel-leaks-goroutine", "CancelledWaiter"},
	{"acquire-ignores-context", "ContextDeadline"},
	{"release-by-name", "ReleaseIsIdempotent"},
	{"release-by-name", "ReleaseAfterLoss"},
	{"release-does-nothing", "ReleaseIsIdempotent"},
	{"release-of-nothing-fails", "ReleaseIsIdempotent"},
	{"second-close-panics", "ReleaseIsIdempotent"},
	{"close-releases", "CloseReleasesNothing"},
	{"extends-by-itself", "OnlyRenewExtends"},
	{"expires-early", "OnlyRenewExtends"},
	{"clean-after-lapse", "OnlyRenewExtends"},
	{"renew-resurrects", "ExpiredStaysExpired"},
	{"renew-of-nothing-succeeds", "RenewWithoutLease"},
	{"renew-in-queue-is-loss", "RenewAtTheGrant"},
	{"grants-less", "GrantedTTL"},
	{"renew-only-when-held", "RenewKeepsThePlace"},
	{"renew-requeues", "RenewKeepsThePlace"},
	{"places-never-end", "PlaceEndsWithoutRenewal"},
	{"token-restarts-after-release", "TokensRise"},
	{"token-restarts-after-deletion", "TokensRise"},
	{"token-restarts-after-restart", "Restarts"},
	{"restart-forgets", "Restarts"},
	{"lost-never-fires", "EvictionIsLoss"},
	{"lost-never-fires", "EvictionEndsLease"},
	{"lost-is-another-channel", "ReleaseIsNoLoss"},
	{"lost-after-release", "ReleaseIsNoLoss"},
	{"names-fold-case", "NamesAreIndependent"},
	{"names-flatten", "NamesAreIndependent"},
	{"names-collide-by-prefix", "NamesAreIndependent"},
	{"names-cut", "NamesAreIndependent"},
	{"outage-is-loss", "ShortCutCostsNothing/reset"},
	{"outage-ends-waiting", "ReleaseDuringWaitersCut/reset"},
	{"wake-lost-in-cut", "ReleaseDuringWaitersCut/all"},
	{"expires-early", "PartitionEndsLease/all"},
	{"outage-is-loss", "RequestsDuringCut/reset"},
	{"renew-ignores-context", "RequestsDuringCut/all"},
	{"undo-takes-its-time", "RequestsDuringCut/all"},
	{"places-never-end", "LongCutEndsPlace/all"},
	{"outage-is-held", "Unreachable/all"},
	{"no-connect-timeout", "Unreachable/replies"},
	{"hostile-record-panics", "HostileRecord/free/0"},
	{"hostile-record-counts-as-free", "HostileRecord/held/0"},
	{"hostile-record-fills-memory", "HostileRecord/free/2"},
	{"raw-holder-in-error", "HostileRecord/free/1"},
	{"raw-holder-in-error", "HostileHolder"},
	{"adopt-is-deaf", "AdoptGoesOn"},
	{"adopt-is-blind", "AdoptIsTold"},
	{"adopt-extends", "AdoptExtendsNothing"},
	{"adopt-by-name", "AdoptExtendsNothing"},
	{"adopt-of-anything", "AdoptOfNonsense"},
	{"ability-lost", "Abilities"},
	{"ability-ignores-context", "RequestsOfAbilities"},
	{"outage-is-loss-of-record", "RequestsOfAbilities"},
	{"used-after-close", "AbilitiesAfterClose"},
	{"inspect-lags", "InspectTells"},
	{"inspect-hides-no-resign", "InspectTells"},
	{"pid-is-our-own", "InspectTells"},
	{"inspect-lags", "InspectBesideAcquire"},
	{"inspect-contends", "InspectDisturbsNobody"},
	{"hostile-record-panics", "HostileState/held/0"},
	{"queue-backwards", "QueueTells"},
	{"queue-without-priority", "QueueTells"},
	{"queue-has-the-holder", "QueueTells"},
	{"cancel-keeps-place", "QueueTells"},
	{"queue-unbounded", "LongQueue"},
	{"record-unconditional", "RecordNeedsTheLock"},
	{"record-by-name", "RecordNeedsTheLock"},
	{"record-when-free", "RecordNeedsTheLock"},
	{"record-unconditional", "RecordAfterTakeover"},
	{"record-by-name", "RecordAfterTakeover"},
	{"record-when-free", "RecordAfterEviction"},
	{"record-checked-by-client", "RecordUnderWay"},
	{"record-lost-on-release", "RecordLives"},
	{"record-is-never-nil", "RecordLives"},
	{"record-lost-on-release", "RecordBesideAcquire"},
	{"record-lost-on-takeover", "RecordOutlivesEnds"},
	{"record-extends", "RecordExtendsNothing"},
	{"record-trimmed", "RecordIsIntact"},
	{"text-unbounded", "RecordIsIntact"},
	{"record-ends-lease", "RecordBesideRenew"},
	{"slots-share-a-record", "RecordsDoNotMix"},
	{"record-unbounded", "HostileText/2"},
	{"ask-never", "AskReachesTheHolder"},
	{"asked-is-another-channel", "AskReachesTheHolder"},
	{"ask-ignores-token", "AskOfAnother"},
	{"ask-ignores-token", "AskOfAnEarlierTerm"},
	{"ask-kept-for-the-next-term", "AskOfAnEarlierTerm"},
	{"first-ask-wins", "LastAskWins"},
	{"ask-mangles", "AskTexts"},
	{"text-unbounded", "AskTexts"},
	{"ask-reaches-waiters", "AskBesideWaiters"},
	{"left-is-the-ttl", "InspectTellsLeft"},
	{"start-is-always-clean", "InspectTellsStart"},
	{"list-only-held", "ListTells"},
	{"list-without-records", "ListTells"},
	{"list-has-other-stores", "ListNames"},
	{"list-without-slots", "ListNames"},
	{"list-cuts-names", "ListNames"},
	{"list-is-one-page", "ListPages"},
	{"list-stops-after-a-page", "ListPages"},
	{"list-counts-entries", "ListBesideChanges"},
	{"list-fails-on-garbage", "HostileList/holder/0"},
	{"record-unbounded", "HostileList/record/2"},
	{"list-has-strangers", "HostileList/entry/1"},
	{"watch-misses-the-end", "WatchTells"},
	{"watch-tells-once", "WatchTells"},
	{"watch-misses-waiters", "WatchTellsWaiters"},
	{"watch-misses-the-end", "WatchTellsOfEviction"},
	{"watch-of-all-is-of-one", "WatchAll"},
	{"watch-tells-renewals", "WatchIgnoresRenewals"},
	{"watch-takes-the-handle", "WatchBesideAcquire"},
	{"watch-stays-open", "WatchEnds"},
	{"watch-ignores-context", "WatchEnds"},
	{"watch-forgets-in-cut", "WatchThroughCut/all"},
	{"break-does-nothing", "BreakEndsTheTerm"},
	{"break-is-clean", "BreakEndsTheTerm"},
	{"break-restarts-token", "BreakEndsTheTerm"},
	{"lost-never-fires", "BreakEndsTheTerm"},
	{"break-by-name", "BreakOfAnEarlierTerm"},
	{"break-repeats", "BreakRepeated"},
	{"break-ends-places", "BreakBesideWaiters"},
	{"break-checks-first", "BreakBesideTakeover"},
	{"break-does-nothing", "BreakOfTheCutOff"},
	{"probe-without-round-trip", "ProbeTells"},
	{"probe-contends", "ProbeTells"},
	{"probe-hangs", "ProbeUnreachable/all"},
	{"probe-hides-errors", "ProbeUnreachable/reset"},
	{"forget-keeps-the-token", "ForgetLeavesNothing"},
	{"forget-by-prefix", "ForgetLeavesNothing"},
	{"forget-of-held-succeeds", "ForgetOfHeldLock"},
	{"forget-takes-the-record", "ForgetOfHeldLock"},
	{"leaks-connection", "Leaks"},
	{"leaks-file", "Leaks"},
	{"leaks-child", "Leaks"},
}

// TestMutants shows that the suite can fail: each test runs on a store with a defect.
// With LOCKSTEST_MATRIX=1 the whole suite runs on each, and all that fails is logged.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.defect+"/"+m.caught, func(t *testing.T) {
			if os.Getenv("LOCKSTEST_MATRIX") != "" {
				t.Logf("%s fails %q", m.defect, failures(t, m.defect))
			}
			// Some defects show only if things happen in a certain order, such as
			// whose renewal was the last.
			for range 4 {
				if fails(t, m.defect, m.caught) {
					return
				}
			}
			t.Errorf("%s passes %s", m.defect, m.caught)
		})
	}
}

// failures are all tests that find a defect.
func failures(t *testing.T, defect string) (names []string) {
	for _, tt := range tests(newMemory(defect, true).config()) {
		if fails(t, defect, tt.name) {
			names = append(names, tt.name)
		}
	}
	return names
}

// fails runs a test on a store with a defect.
func fails(t *testing.T, defect, name string) (failed bool) {
	t.Helper()
	c := newMemory(defect, true).config()
	all := tests(c)
	i := slices.IndexFunc(all, func(tt test) bool { return tt.name == name })
	if i < 0 {
		t.Fatalf("there is no test %s", name)
	}
	defer func() {
		if p := recover(); p != nil { // a goroutine that never ends, in the bubble
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
