package caslease_test

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/breaking"
)

// mutants are deliberate defects of the engine, one for each rule: a text in a file, what
// replaces it, and a test that must fail because of that.
var mutants = []struct{ rule, file, old, with, caught string }{
	{"a running lease is waited for", "campaign.go", "if left > 0 {\n\t\t\tif v, err", "if left > time.Hour {\n\t\t\tif v, err", "TestInspect|TestByClock$/^Exclusion"},
	{"a lease of the store's own is waited for", "campaign.go", "v.Leased && !(", "v.Leased && false && !(", "TestByLease$/^TryOnHeldLock"},
	{"a Date proves the end after the lease and the margin", "expiry.go", "return v.state.ttl() + t.Margin", "return v.state.ttl() / 2", "TestDateProvesTheEnd"},
	{"a missing Date proves nothing", "expiry.go", " || v.Date.Before(v.Updated) {", " {", "TestDateNotTrusted"},
	{"a Date proves nothing where the store says so", "expiry.go", "t.Expiry == ByWatching || ", "", "TestWatchProvesTheEnd"},
	{"a watch counts from the arrival of an answer", "expiry.go", "v.sent.Sub(o.first.received)", "v.received.Sub(o.first.sent)", "TestWatchProvesTheEnd"},
	{"a watch starts again with each change", "expiry.go", "o.first == nil || o.first.Version != v.Version", "o.first == nil", "TestWatchProvesTheEnd"},
	{"a takeover by stamps is in doubt", "campaign.go", "c.history.doubt.begin(v, t)", "", "TestWrongDate$"},
	{"a takeover in doubt keeps the lease before", "early_takeover.go", "t.state.TTLms = max(t.state.TTLms, before.state.TTLms)", "", "TestWrongDateThenDeath"},
	{"a takeover in doubt is waited out", "campaign.go", "if left := c.history.doubt.left(after, l.traits); left > 0 {", "if left := c.history.doubt.left(after, l.traits); left > time.Hour {", "TestWrongDate$"},
	{"what we left is waited out", "campaign.go", "return c.history.doubt.left(v, c.lock.traits), ByWatching", "return 0, ByWatching", "TestWrongDateAndLostReply"},
	{"a takeover in doubt is not undone", "resolve.go", " && c.history.doubt.left(v, l.traits) <= 0 {", " {", "TestWrongDateIsNotUndone"},
	{"a release ends all doubt", "campaign.go", "if !l.wrote(v) {\n\t\tc.history.doubt = doubt{}\n\t}", "", "TestWrongDateThenRelease"},
	{"the store learns the least age", "campaign.go", "minAge = l.traits.minAge(v)", "", "TestMinAge"},
	{"a lost answer is resolved by the nonce", "resolve.go", "v.state.Nonce != t.state.Nonce || ", "", "TestAcquireResolvedForAnother"},
	{"a freed lock is not resolved as ours", "resolve.go", "v.state.Is != held || l.now()", "l.now()", "TestFreedBeforeResolved"},
	{"a grant that was resolved too late does not count", "resolve.go", " || l.now().Sub(t.sent) > l.ttl/2", "", "TestAcquireResolvedTooLate"},
	{"a lost answer is resolved at all", "campaign.go", "l.kind(err) == Unknown {", "false {", "TestAcquireIsResolvedByNonce"},
	{"an early read proves nothing", "resolve.go", "if !l.traits.ReadsEarly {", "if true {", "TestAcquireResolvedByAnswer"},
	{"a failed acquire is undone", "resolve.go", "if !c.dirty {", "if true {", "TestAcquireIsUndone"},
	{"a write is awaited before it is undone", "campaign.go", "lingering(ctx, lingerTime)", "lingering(ctx, 0)", "TestAcquireAwaitsItsWrite"},
	{"a takeover must be seen", "campaign.go", "err = l.traits.checkRenewed(after, v)", "", "TestTakeWithoutTrace"},
	{"the pauses between failing writes grow", "campaign.go", "return c.retry.Wait(ctx)", "c.retry.Reset()\n\treturn c.retry.Wait(ctx)", "TestWritesBackOff"},
	{"a write that came too soon keeps its distance", "campaign.go", "c.again(ctx, err, c.lock.traits.Pace)", "c.again(ctx, err, backoffMin)", "TestThrottledTake"},
	{"Renew during a wait needs no request", "lock.go", "case t == nil && waiting:\n\t\treturn nil\n", "case t == nil && waiting:\n\t\treturn locks.ErrNoLease\n", "TestRenewBesideAcquire"},
	{"Renew during a write has no lease", "campaign.go", "defer c.lock.setWaiting(false)\n\tif s :=", "if s :=", "TestRenewBesideAcquire"},
	{"each renewal changes the state", "state.go", "s.Renewals = at.state.Renewals + 1", "", "TestRenewalMovesTheCell"},
	{"a renewal must move the version", "moved.go", "if v.Version == since.Version || ", "if ", "TestStoreThatDoesNotMove"},
	{"a version must rise if versions do", "moved.go", " || t.Follows != nil && !t.Follows(since.Version, v.Version)", "", "TestVersionMustRise"},
	{"a renewal must move the stamp", "moved.go", "!v.Updated.After(since.Updated)", "false", "TestStoreThatDoesNotMove"},
	{"after the end nothing is renewed", "term.go", "if expired(l.leaseSent(t), now, l.ttl) {", "if false {", "TestRenewAfterTheEnd"},
	{"a lease counts from the sending", "renew.go", "l.note(t, at, v, sent)", "l.note(t, at, v, v.received)", "TestLeaseCountsFromTheSending"},
	{"a record extends no lease", "record.go", "l.note(t, at, v, 0)", "l.note(t, at, v, sent)", "TestRecordExtendsNoLease"},
	{"a term is known by its nonce", "term.go", "case v.state.Nonce != t.state.Nonce:\n\t\treturn nil, l.lose(errTaken)\n", "", "TestLoss"},
	{"a freed lock is lost", "term.go", "case v.state.Is != held:\n\t\treturn nil, l.lose(errFreed)\n", "", "TestLoss"},
	{"a deleted lock is lost", "term.go", "case !v.exists():", "case false:", "TestLoss"},
	{"a release is not written over", "term.go", "if why := l.why(); why != nil { //", "if why := l.why(); false { //", "TestReleaseBesideRenew"},
	{"renewals keep their distance from other writes", "renew.go", "d := pace - l.now().Sub(t.wrote)", "d := 0 * pace", "TestPaced|TestFirstRenewalIsPaced"},
	{"but not if there is no time", "renew.go", "time.Until(end) < d+pace/2", "time.Until(end) < 0", "TestPaced"},
	{"a late answer counts less", "term.go", "if t.last == was {", "{", "TestLateAnswer"},
	{"a record waits for the renewal under way", "record.go", "if err := l.afterRenewal(ctx); err != nil {", "if err := ctx.Err(); err != nil {", "TestRecordAfterRenewal"},
	{"somebody else's record does not count as none", "record.go", "case v.badRecord():", "case false:", "TestRecordOfAnother"},
	{"a record is given up with the lease", "record.go", "return l.mayWrite(t, l.now()) }", "return nil }", "TestRecordEndsWithTheLease"},
	{"a request is not repeated forever", "retry.go", "case kind == Unreachable, l.late(start, pause):", "case kind == Unreachable, l.late(start, pause) && false:", "TestAskFails|TestInspectFails"},
	{"a refusal is not repeated", "retry.go", "kind != Changed && !kind.transient()", "false", "TestRefusedOnce"},
	{"what comes too soon is put off", "retry.go", "pause.AtLeast(pace)", "_ = pace", "TestRecordKeepsItsDistance"},
	{"a release reads a changed cell at once", "release.go", "!l.stale(err) {", "true {", "TestReleaseReadsAtOnce"},
	{"tokens rise above the floor", "view.go", "max(v.state.Token, v.Floor)", "v.state.Token", "TestTokensRise"},
	{"a break leaves the next grant unclean", "break.go", "s.Broken = nonce", "", "TestBreak$"},
	{"a break is of one term", "break.go", " || st.Token != token", "", "TestBreak$"},
	{"a break recognizes its own write", "break.go", "case v.exists() && v.state.Broken == nonce:\n\t\treturn nil\n", "", "TestBreakLostAnswer"},
	{"only a free lock is forgotten as it is", "forget.go", "(v.state.Is != free || v.Leased) && ", "false && ", "TestForgetHeld"},
	{"a refused deletion gives the lock back", "forget.go", "_ = f.own.Release(ctx)", "_ = ctx", "TestForgetDenied"},
	{"a request is for one token", "requests.go", "r.Token != t.state.Token || ", "", "TestAsk$"},
	{"a request is delivered once", "requests.go", " || r.Nonce == t.lastRequest", "", "TestAsk$"},
	{"a denied read is not repeated", "requests.go", "l.requestsDenied = true", "", "TestAskedDenied"},
	{"waiters are woken", "watch.go", "case <-w.changes:\n\t\treturn nil\n", "", "TestWatched$/^WaiterWakes"},
	{"missed changes are looked for", "watch.go", "workers.Poke(to)\n\t\t\tfor range from", "for range from", "TestWatched$/^WatchThroughCut"},
	{"a loss is reported", "watch.go", "if l.watching.lost != nil {", "if false {", "TestWatched$/^EvictionIsLoss"},
	{"renewals are silent", "renew.go", ".encode(), Silent: true}", ".encode()}", "TestWatched$/^WatchIgnoresRenewals"},
}

// TestMutants: if a rule is broken, a test fails.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) { breaking.Find(t, m.file, m.old, m.with, m.caught) })
	}
}
