package caslease_test

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/breaking"
)

// mutants are deliberate defects of the engine, one for each rule: what a file has, what
// it has instead, and the test, among others, that must fail because of it.
var mutants = []struct{ rule, file, old, with, caught string }{
	{"a lease that runs is waited for", "campaign.go", "if left > 0 {\n\t\t\tif v, err", "if left > time.Hour {\n\t\t\tif v, err", "TestInspect|TestByClock$/^Exclusion"},
	{"a Date proves the end after the lease and the margin", "expiry.go", "return v.state.ttl() + t.Margin", "return v.state.ttl() / 2", "TestDateProvesTheEnd"},
	{"a Date that is not there proves nothing", "expiry.go", " || v.Date.Before(v.Updated) {", " {", "TestDateNotTrusted"},
	{"a Date proves nothing where the store says so", "expiry.go", "t.Expiry == ByWatching || ", "", "TestWatchProvesTheEnd"},
	{"a watch counts from the arrival of an answer", "expiry.go", "v.sent.Sub(o.first.received)", "v.received.Sub(o.first.sent)", "TestWatchProvesTheEnd"},
	{"a watch begins anew with each change", "expiry.go", "o.first == nil || o.first.Version != v.Version", "o.first == nil", "TestWatchProvesTheEnd"},
	{"a takeover by stamps is in doubt", "campaign.go", "c.seen.doubt.begin(v, t)", "", "TestWrongDate$"},
	{"a takeover in doubt speaks of the lease before", "early_takeover.go", "t.state.TTLms = max(t.state.TTLms, before.state.TTLms)", "", "TestWrongDateThenDeath"},
	{"a takeover in doubt is waited out", "campaign.go", "if left := c.seen.doubt.left(after, l.traits); left > 0 {", "if left := c.seen.doubt.left(after, l.traits); left > time.Hour {", "TestWrongDate$"},
	{"a leftover of ours is waited out", "campaign.go", "return c.seen.doubt.left(v, c.lock.traits), ByWatching", "return 0, ByWatching", "TestWrongDateAndLostReply"},
	{"a takeover in doubt is not undone", "resolve.go", " && c.seen.doubt.left(v, l.traits) <= 0 {", " {", "TestWrongDateIsNotUndone"},
	{"a release ends all doubt", "campaign.go", "if !l.wrote(v) {\n\t\tc.seen.doubt = doubt{}\n\t}", "", "TestWrongDateThenRelease"},
	{"the store is told what must be over", "campaign.go", "minAge = l.traits.minAge(v)", "", "TestOver"},
	{"a lost answer is resolved by the nonce", "resolve.go", "v.state.Nonce != t.state.Nonce || ", "", "TestAcquireResolvedForAnother"},
	{"what was freed is not resolved as ours", "resolve.go", "v.state.Is != held || l.now()", "l.now()", "TestFreedBeforeResolved"},
	{"what was resolved too late is not relied on", "resolve.go", " || l.now().Sub(t.sent) > l.ttl/2", "", "TestAcquireResolvedTooLate"},
	{"a lost answer is resolved at all", "campaign.go", "l.kind(err) == Unknown {", "false {", "TestAcquireIsResolvedByNonce"},
	{"an early read proves nothing", "resolve.go", "if !l.traits.ReadsEarly {", "if true {", "TestAcquireResolvedByAnswer"},
	{"a failed acquire is undone", "resolve.go", "if !c.dirty {", "if true {", "TestAcquireIsUndone"},
	{"a write is awaited before it is undone", "campaign.go", "lingering(ctx, lingerTime)", "lingering(ctx, 0)", "TestAcquireAwaitsItsWrite"},
	{"a takeover must be seen", "campaign.go", "err = l.traits.checkRenewed(after, v)", "", "TestTakeWithoutTrace"},
	{"failing writes come ever more slowly", "campaign.go", "return c.retry.Wait(ctx)", "c.retry.Reset()\n\treturn c.retry.Wait(ctx)", "TestWritesBackOff"},
	{"a write that came too soon keeps its distance", "campaign.go", "c.again(ctx, err, c.lock.traits.Pace)", "c.again(ctx, err, backoffMin)", "TestThrottledTake"},
	{"Renew beside a wait needs no request", "lock.go", "case t == nil && waiting:\n\t\treturn nil\n", "case t == nil && waiting:\n\t\treturn locks.ErrNoLease\n", "TestRenewBesideAcquire"},
	{"Renew beside a write knows nothing", "campaign.go", "defer c.lock.setWaiting(false)\n\tif s :=", "if s :=", "TestRenewBesideAcquire"},
	{"each renewal changes the record", "state.go", "s.Renewals = at.state.Renewals + 1", "", "TestRenewalMovesTheCell"},
	{"a renewal must move the version", "moved.go", "if v.Version == since.Version || ", "if ", "TestStoreThatDoesNotMove"},
	{"a version must rise where it can", "moved.go", " || t.Follows != nil && !t.Follows(since.Version, v.Version)", "", "TestVersionMustRise"},
	{"a renewal must move the stamp", "moved.go", "!v.Updated.After(since.Updated)", "false", "TestStoreThatDoesNotMove"},
	{"after the end nothing is renewed", "term.go", "if expired(l.leaseSent(t), now, l.ttl) {", "if false {", "TestRenewAfterTheEnd"},
	{"a lease counts from the sending", "renew.go", "l.note(t, at, v, sent)", "l.note(t, at, v, v.received)", "TestLeaseCountsFromTheSending"},
	{"a text extends no lease", "record.go", "l.note(t, at, v, 0)", "l.note(t, at, v, sent)", "TestRecordExtendsNoLease"},
	{"a term is known by its nonce", "term.go", "case v.state.Nonce != t.state.Nonce:\n\t\treturn nil, l.lose(errTaken)\n", "", "TestLoss"},
	{"what was freed is lost", "term.go", "case v.state.Is != held:\n\t\treturn nil, l.lose(errFreed)\n", "", "TestLoss"},
	{"what was deleted is lost", "term.go", "case !v.exists():", "case false:", "TestLoss"},
	{"a release is not taken for ours", "term.go", "if why := l.why(); why != nil { //", "if why := l.why(); false { //", "TestReleaseBesideRenew"},
	{"renewals keep clear of other writes", "renew.go", "d := pace - l.now().Sub(t.wrote)", "d := 0 * pace", "TestPaced|TestFirstRenewalIsPaced"},
	{"and do not where there is no time", "renew.go", "time.Until(end) < d+pace/2", "time.Until(end) < 0", "TestPaced"},
	{"an answer that comes late says less", "term.go", "if t.last == was {", "{", "TestLateAnswer"},
	{"a text waits for the renewal under way", "record.go", "if err := l.afterRenewal(ctx); err != nil {", "if err := ctx.Err(); err != nil {", "TestRecordAfterRenewal"},
	{"a text of somebody else is not taken for none", "record.go", "case v.badRecord():", "case false:", "TestRecordOfAnother"},
	{"tokens rise above the floor", "view.go", "max(v.state.Token, v.Floor)", "v.state.Token", "TestTokensRise"},
	{"a break leaves the next grant unclean", "break.go", "s.Broken = nonce", "", "TestBreak$"},
	{"a break is of one term", "break.go", " || st.Token != token", "", "TestBreak$"},
	{"a break knows what it did", "break.go", "case v.exists() && v.state.Broken == nonce:\n\t\treturn nil\n", "", "TestBreakUnheard"},
	{"only what is free is forgotten as it is", "forget.go", "v.state.Is != free && ", "false && ", "TestForgetHeld"},
	{"a refused deletion gives the lock back", "forget.go", "_ = f.own.Release(ctx)", "_ = ctx", "TestForgetDenied"},
	{"a request is for one token", "requests.go", "r.Token != t.state.Token || ", "", "TestAsk$"},
	{"a request is heard once", "requests.go", " || r.Nonce == t.lastRequest", "", "TestAsk$"},
	{"who may not look does not look again", "requests.go", "l.requestsDenied = true", "", "TestAskedDenied"},
	{"waiters are woken", "watch.go", "case <-w.changes:\n\t\treturn nil\n", "", "TestWatched$/^WaiterWakes"},
	{"what was missed is looked for", "watch.go", "workers.Poke(to)\n\t\t\tfor range from", "for range from", "TestWatched$/^WatchThroughCut"},
	{"a holder hears of its loss", "watch.go", "if l.watching.lost != nil {", "if false {", "TestWatched$/^EvictionIsLoss"},
	{"renewals are silent", "renew.go", ".encode(), Silent: true}", ".encode()}", "TestWatched$/^WatchIgnoresRenewals"},
}

// TestMutants has each rule broken, which is to be found.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) { breaking.Find(t, m.file, m.old, m.with, m.caught) })
	}
}
