package queue_test

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/breaking"
)

// mutants are deliberate defects of the recipe, one for each rule: a text in a file, what
// replaces it, and a test that must fail because of that.
var mutants = []struct{ rule, file, old, with, caught string }{
	{"a failed campaign is undone", "lock.go", "c.undo(ctx)\n\treturn locks.Grant{}", "return locks.Grant{}", "TestConformance$/^CancelledWaiter"},
	{"even after the caller's context has ended", "campaign.go", "context.WithoutCancel(ctx)", "ctx", "TestConformance$/^CancelledWaiter"},
	{"and again before the next", "lock.go", "if old != nil {", "if false {", "TestUndoneBeforeTheNext"},
	{"a failure to undo is a warning", "campaign.go", "if c.TTL() > 0 {", "if false {", "TestUndoneBeforeTheNext"},
	{"if there is something to undo", "campaign.go", "if c.TTL() > 0 {", "if true {", "TestNothingToUndo"},
	{"a campaign that is over is granted nothing", "lock.go", "if over != nil {\n\t\terr = over", "if false {\n\t\terr = over", "TestReleaseBesideAcquire"},
	{"a campaign that is over is not renewed", "lock.go", "c == nil || c.Over() != nil || ", "c == nil || ", "TestUndoneBeforeTheNext"},
	{"there is nothing to renew before the session", "lock.go", " || c.TTL() == 0:", ":", "TestReleaseBesideAcquire"},
	{"a renewal reports a loss", "lock.go", "c.judge(c.entry.Renew(ctx))", "c.entry.Renew(ctx)", "TestLosses"},
	{"a renewal after the end fails", "lock.go", "over := c.Over(); over != nil { // now", "over := c.Over(); false { // now", "TestReleaseBesideRenew"},
	{"a write reports a loss", "record.go", "c.judge(c.entry.Write(ctx, text))", "c.entry.Write(ctx, text)", "TestLosses"},
	{"the watch reports a loss", "campaign.go", "c.judge(c.entry.WatchEntry(ctx, pause))", "c.entry.WatchEntry(ctx, pause)", "TestLosses"},
	{"an entry that leads at once is watched", "wait.go", "c.watchEntry(putOff)", "", "TestLosses"},
	{"an entry that waits is watched", "wait.go", "c.watchEntry(0)", "", "TestPlaceLost"},
	{"an adopted entry is watched", "lock.go", "c.watchEntry(0)", "", "TestConformance$/^AdoptLearnsOfEviction"},
	{"a look reports a loss", "wait.go", "return 0, c.judge(err)\n\t\t}\n\t}", "return 0, err\n\t\t}\n\t}", "TestPlaceLost"},
	{"entering reports a loss", "wait.go", "return 0, c.judge(err)\n\tcase v.Leads", "return 0, err\n\tcase v.Leads", "TestGoneAtOnce"},
	{"a loss ends the handle", "campaign.go", "if c.end(why, true) {", "if c.end(why, false) {", "TestLosses"},
	{"a loss is reported once", "campaign.go", "if c.over != nil {\n\t\treturn false\n\t}\n\tc.over", "c.over", "TestLossReportedOnce"},
	{"after a failed campaign the handle still works", "lock.go", "c.end(err, false)\n\tc.undo", "c.end(err, true)\n\tc.undo", "TestUndoneBeforeTheNext"},
	{"after a release nothing is held", "lock.go", "c.end(errReleased, true)", "", "TestReleaseBesideRenew"},
	{"one call leaves at a time", "campaign.go", "defer func() { <-c.leaving }()", "<-c.leaving", "TestOneLeaves"},
	{"a try does not wait", "wait.go", "case try:\n", "case false:\n", "TestConformance$/^TryOnHeldLock"},
	{"a wait that ends says who holds the lock", "wait.go", "if ctx.Err() != nil { // our", "if false { // our", "TestPatience"},
	{"a transient error does not end a wait", "wait.go", "if !c.lock.transient(err) {", "if true {", "TestDisturbed"},
	{"another error does", "wait.go", "if !c.lock.transient(err) {", "if false {", "TestDisturbed"},
	{"a disturbance is logged once", "wait.go", "warned = true", "", "TestDisturbed"},
	{"a waiter learns who holds the lock", "wait.go", "c.report(v)\n", "\n", "TestSinceIsOfTheTerm"},
	{"a term after a wait updates its entry", "wait.go", "c.updateLater()", "", "TestSinceIsOfTheTerm"},
	{"and reports a loss", "campaign.go", "c.judge(c.entry.Update(ctx))", "c.entry.Update(ctx)", "TestLossAfterWait"},
	{"only a term has a record", "record.go", " || c.Token() == 0 {", " {", "TestRecordNeedsATerm"},
	{"a record that is read is bounded", "record.go", "text[:min(len(text), locks.MaxRecord)]", "text", "TestConformance$/^HostileText"},
	{"a request is for one token", "requests.go", "r.Token != in.Token || ", "", "TestRequests"},
	{"a request is delivered once", "requests.go", " || r.Nonce == in.last", "", "TestRequests"},
	{"the last request counts", "requests.go", "case <-in.asked:\n", "", "TestRequests"},
	{"a holder gets requests", "campaign.go", "c.watchRequests()", "", "TestConformance$/^AskReachesTheHolder"},
	{"a denied watch of requests is not repeated", "requests.go", "return\n\t\t\t}\n\t\t\tif in", "}\n\t\t\tif in", "TestAskedDenied"},
	{"an error has its class", "errors.go", "Class: f.Class", "Class: locks.ErrUnavailable", "TestErrors"},
	{"the caller's context is reported", "errors.go", "return e.Ended(ctx, f.Timeout)", "return e", "TestErrors"},
	{"and alone, if no more is known", "errors.go", "e.Ended(ctx, f.Timeout)", "e.Ended(ctx, false)", "TestErrors"},
	{"an error about the holder stays as it is", "errors.go", "ok && ctx.Err() == nil", "ok && false", "TestErrors"},
	{"a closed handle makes no requests", "errors.go", "if !l.workers.Over() {", "if true {", "TestConformance$/^AbilitiesAfterClose"},
	{"a watch ends with the handle", "operate.go", "workers.Join(ctx, closed)", "workers.Join(ctx, ctx)", "TestConformance$/^(WatchEnds|CloseBesideAnything|AbilitiesAfterClose)"},
	{"the end of a watch is reported", "operate.go", "defer close(changes)", "", "TestConformance$/^WatchEnds"},
	{"an entry is tidied before its release", "lock.go", "t.Tidy(ctx)", "_ = t", "TestBare"},
	{"and not after a loss", "lock.go", "; ok && c.Over() == nil {", "; ok {", "TestBare"},
	{"Close waits", "lock.go", "l.workers.Wait()\n", "\n", "TestCloseWaits"},
}

// TestMutants: if a rule is broken, a test fails.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) { breaking.Find(t, m.file, m.old, m.with, m.caught) })
	}
}
