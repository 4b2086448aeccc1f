package queue_test

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/breaking"
)

// mutants are deliberate defects of the recipe, one for each rule: what a file has, what
// it has instead, and the test, among others, that must fail because of it.
var mutants = []struct{ rule, file, old, with, caught string }{
	{"a failed campaign is undone", "lock.go", "c.undo(ctx)\n\treturn locks.Grant{}", "return locks.Grant{}", "TestConformance$/^CancelledWaiter"},
	{"whatever the caller's patience", "campaign.go", "context.WithoutCancel(ctx)", "ctx", "TestConformance$/^CancelledWaiter"},
	{"and again before the next", "lock.go", "if old != nil {", "if false {", "TestUndoneBeforeTheNext"},
	{"that it cannot be undone is told", "campaign.go", "if c.TTL() > 0 {", "if false {", "TestUndoneBeforeTheNext"},
	{"where there is something to undo", "campaign.go", "if c.TTL() > 0 {", "if true {", "TestNothingToUndo"},
	{"what is over is not granted", "lock.go", "if over != nil {\n\t\terr = over", "if false {\n\t\terr = over", "TestReleaseBesideAcquire"},
	{"what is over is not renewed", "lock.go", "c == nil || c.Over() != nil || ", "c == nil || ", "TestUndoneBeforeTheNext"},
	{"there is nothing to renew before the session", "lock.go", " || c.TTL() == 0:", ":", "TestReleaseBesideAcquire"},
	{"a renewal tells a loss", "lock.go", "c.judge(c.entry.Renew(ctx))", "c.entry.Renew(ctx)", "TestLosses"},
	{"a renewal after the end is none", "lock.go", "over := c.Over(); over != nil { // now", "over := c.Over(); false { // now", "TestReleaseBesideRenew"},
	{"a write tells a loss", "record.go", "c.judge(c.entry.Write(ctx, text))", "c.entry.Write(ctx, text)", "TestLosses"},
	{"the watch tells a loss", "campaign.go", "c.judge(c.entry.WatchEntry(ctx, pause))", "c.entry.WatchEntry(ctx, pause)", "TestLosses"},
	{"who leads at once is watched", "wait.go", "c.watchEntry(putOff)", "", "TestLosses"},
	{"who waits is watched", "wait.go", "c.watchEntry(0)", "", "TestPlaceLost"},
	{"who goes on is watched", "lock.go", "c.watchEntry(0)", "", "TestConformance$/^AdoptIsTold"},
	{"a look tells a loss", "wait.go", "return 0, c.judge(err)\n\t\t}\n\t}", "return 0, err\n\t\t}\n\t}", "TestPlaceLost"},
	{"entering tells a loss", "wait.go", "return 0, c.judge(err)\n\tcase v.Leads", "return 0, err\n\tcase v.Leads", "TestGoneAtOnce"},
	{"a loss ends the handle", "campaign.go", "if c.end(why, true) {", "if c.end(why, false) {", "TestLosses"},
	{"a loss is told once", "campaign.go", "if c.over != nil {\n\t\treturn false\n\t}\n\tc.over", "c.over", "TestLosses|TestConformance$/^ReleaseIsIdempotent"},
	{"a failed campaign leaves the handle of use", "lock.go", "c.end(err, false)\n\tc.undo", "c.end(err, true)\n\tc.undo", "TestUndoneBeforeTheNext"},
	{"who has released holds no more", "lock.go", "c.end(errReleased, true)", "", "TestReleaseBesideRenew"},
	{"one leaves at a time", "campaign.go", "defer func() { <-c.leaving }()", "<-c.leaving", "TestOneLeaves"},
	{"a try does not wait", "wait.go", "case try:\n", "case false:\n", "TestConformance$/^TryOnHeldLock"},
	{"whose patience ends is told who holds", "wait.go", "if ctx.Err() != nil { // our", "if false { // our", "TestPatience"},
	{"a disturbance ends no wait", "wait.go", "if !c.lock.transient(err) {", "if true {", "TestDisturbed"},
	{"a refusal does", "wait.go", "if !c.lock.transient(err) {", "if false {", "TestDisturbed"},
	{"a disturbance is told once", "wait.go", "warned = true", "", "TestDisturbed"},
	{"who waits is told for whom", "wait.go", "c.report(v)\n", "\n", "TestSinceIsOfTheTerm"},
	{"a term after a wait is stamped anew", "wait.go", "c.updateLater()", "", "TestSinceIsOfTheTerm"},
	{"only a term has a record", "record.go", " || c.Token() == 0 {", " {", "TestRecordNeedsATerm"},
	{"a record is bounded where it is read", "record.go", "text[:min(len(text), locks.MaxRecord)]", "text", "TestConformance$/^HostileText"},
	{"a request is for one token", "requests.go", "r.Token != in.Token || ", "", "TestRequests"},
	{"a request is heard once", "requests.go", " || r.Nonce == in.last", "", "TestRequests"},
	{"the last request counts", "requests.go", "case <-in.asked:\n", "", "TestRequests"},
	{"a holder hears", "campaign.go", "c.watchRequests()", "", "TestConformance$/^AskReachesTheHolder"},
	{"who may not hear stops", "requests.go", "return\n\t\t\t}\n\t\t\tif in", "}\n\t\t\tif in", "TestAskedDenied"},
	{"an error has its class", "errors.go", "Class: f.Class", "Class: locks.ErrUnavailable", "TestErrors"},
	{"the caller's context is told", "errors.go", "return e.Ended(ctx, f.Timeout)", "return e", "TestErrors"},
	{"and alone, if no more is known", "errors.go", "e.Ended(ctx, f.Timeout)", "e.Ended(ctx, false)", "TestErrors"},
	{"who holds is told as such", "errors.go", "ok && ctx.Err() == nil", "ok && false", "TestErrors"},
	{"a closed handle asks nothing", "errors.go", "if !l.workers.Over() {", "if true {", "TestConformance$/^AbilitiesAfterClose"},
	{"a watch ends with the handle", "operate.go", "workers.Join(ctx, closed)", "workers.Join(ctx, ctx)", "TestConformance$/^(WatchEnds|CloseBesideAnything|AbilitiesAfterClose)"},
	{"what ends its watch is told", "operate.go", "defer close(changes)", "", "TestConformance$/^WatchEnds"},
	{"a place is tidied before its release", "lock.go", "t.Tidy(ctx)", "_ = t", "TestBare"},
	{"and not after a loss", "lock.go", "; ok && c.Over() == nil {", "; ok {", "TestBare"},
	{"Close waits", "lock.go", "l.workers.Wait()\n", "\n", "TestCloseWaits"},
}

// TestMutants has each rule broken, which is to be found.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) { breaking.Find(t, m.file, m.old, m.with, m.caught) })
	}
}
