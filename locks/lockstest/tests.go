package lockstest

// tests returns all there are.
func tests(c Config) []test {
	all := []test{
		{name: "Exclusion", run: exclusion},
		{name: "ExclusionUnderFaults", run: exclusionUnderFaults, needs: []need{needTTL, needCut}},
		{name: "TryOnHeldLock", run: tryOnHeldLock},
		{name: "WaiterWakes", run: waiterWakes},
		{name: "WaitingTells", run: waitingTells},
		{name: "FairOrder", run: fairOrder, needs: []need{needFair}},
		{name: "CancelledWaiter", run: cancelledWaiter},
		{name: "CancelAtRandomMoments", run: cancelAtRandomMoments},
		{name: "ContextAlreadyEnded", run: contextAlreadyEnded},
		{name: "ContextDeadline", run: contextDeadline},
		{name: "ReleaseIsIdempotent", run: releaseIsIdempotent},
		{name: "ReleaseAfterLoss", run: releaseAfterLoss, needs: []need{needTTL}},
		{name: "ReleaseBesidePending", run: releaseBesidePending},
		{name: "CloseBesidePending", run: closeBesidePending},
		{name: "UseAfterClose", run: useAfterClose},
		{name: "CloseBesideAnything", run: closeBesideAnything},
		{name: "SilentWaiter", run: silentWaiter},
		{name: "RenewAtTheGrant", run: renewAtTheGrant},
		{name: "RenewWithoutLease", run: renewWithoutLease},
		{name: "RenewKeepsThePlace", run: renewKeepsThePlace, needs: []need{needTTL, needPlaces}},
		{name: "PlaceEndsWithoutRenewal", run: placeEndsWithoutRenewal, needs: []need{needTTL, needPlaces}},
		{name: "OnlyRenewExtends", run: onlyRenewExtends, needs: []need{needTTL}},
		{name: "ExpiredStaysExpired", run: expiredStaysExpired, needs: []need{needTTL}},
		{name: "CloseReleasesNothing", run: closeReleasesNothing, needs: []need{needTTL}},
		{name: "GrantedTTL", run: grantedTTL},
		{name: "TokensRise", run: tokensRise},
		{name: "EvictionIsLoss", run: evictionIsLoss, needs: []need{needEvict}},
		{name: "ReleaseIsNoLoss", run: releaseIsNoLoss},
		{name: "NamesAreIndependent", run: namesAreIndependent},
		{name: "LeaseLives", run: leaseLives},
		{name: "DeadlineCountsFromSending", run: deadlineCountsFromSending, needs: []need{needTTL}},
		{name: "LostRepliesMoveNothing", run: lostRepliesMoveNothing, needs: []need{needTTL}},
		{name: "LeaseFromTheQueue", run: leaseFromTheQueue, needs: []need{needTTL}},
		{name: "EvictionEndsLease", run: evictionEndsLease, needs: []need{needEvict}},
		{name: "HostileHolder", run: hostileHolder},
		{name: "Restarts", run: restarts, needs: []need{needRestart}, alone: true},
		{name: "Leaks", run: leaks, alone: true},
	}
	all = append(all, cuts()...)
	return append(all, hostileRecords(c)...)
}
