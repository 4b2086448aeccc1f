package quorum_test

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/breaking"
)

// mutants are deliberate defects, one for each rule: a text in a file, what replaces it, and
// a test that must fail because of that.
var mutants = []struct{ rule, file, old, with, caught string }{
	{"a campaign that is not granted is withdrawn", "acquire.go", "\t\t\tl.withdraw()\n", "", "TestWithdrawn"},
	{"a leader does not campaign", "acquire.go", "if l.final == nil && l.granted {", "if false {", "TestAcquireTwice"},
	{"a try reports the holder", "acquire.go", "case s.try && s.holder != votes.Term{}:", "case false:", "TestConformance$/^TryOnHeldLock"},
	{"a candidate that was met is no holder", "acquire.go", "bound[a.To]+l.c.Group.Majority() > l.c.Group.Seats", "bound[a.To] > 0", "TestMet"},
	{"a wait goes on once a majority has answered", "acquire.go", "case s.answered && !s.try, ", "case ", "TestAbstaining"},
	{"a wait ends if none has", "acquire.go", "voted+abstained >= l.c.Group.Majority()", "true", "TestConformance"},
	{"a try tries again", "acquire.go", "time.Since(s.began)+s.next() < s.lock.o.ConnectTimeout*3/4", "false", "TestMet"},
	{"a waiter learns who holds the lock", "acquire.go", "o.Waiting(locks.Waiting{Status: s.status()})", "", "TestConformance$/^WaitingReports"},
	{"a release wakes waiters", "lock.go", "\t\tworkers.Poke(l.changed)\n", "", "TestHandOver"},
	{"only that of the holder", "acquire.go", "\tl.holder = s.holder\n", "", "TestHandOver"},
	{"a late vote is withdrawn", "lock.go", "\tcase votes.Ghost:\n", "\tcase -1:\n", "TestLateVote"},
	{"too many voters end the term", "lock.go", "case votes.Crowded:", "case -1:", "TestCrowded"},
	{"but free nobody", "lock.go", "\tl.final = why\n", "\tl.final = why\n\tw := l.candidate.Withdraw()\n\tl.c.Network.Broadcast(l.message(votes.Message{Withdrawal: &w}))\n", "TestCrowded"},
	{"a lease that has ended is lost", "renew.go", "\tcase over:\n", "\tcase over && !over:\n", "TestConformance$/^OnlyRenewExtends"},
	{"a renewal needs a majority", "renew.go", "\tcase won:\n", "\tcase won || !won:\n", "TestRefusedRenewal"},
	{"requests are sent again", "round.go", "case <-again.C:", "case <-ctx.Done():", "TestReleaseRepeats"},
	{"a release withdraws", "renew.go", "{Term: w.term}}, w.done)", "{Term: votes.Term{Candidate: w.term.Candidate, Number: 99}}}, w.done)", "TestHandOver"},
	{"a release awaits a majority", "renew.go", "case <-w.done:\n\t\treturn nil\n\tdefault:", "default:\n\t\treturn nil\n\tcase <-l.changed:", "TestReleaseIsUnheard"},
	{"unless the lease has ended", "renew.go", "if !leads {", "if !leads && leads {", "TestReleaseIsUnheard"},
	{"a release ends a campaign", "renew.go", "if l.final == nil && (l.granted || l.campaigns != nil) {", "if l.final == nil && l.granted {", "TestReleaseEnds"},
	{"and the handle", "renew.go", "\t\tl.final = errReleased\n", "", "TestReleaseEnds"},
	{"a closed handle ends", "lock.go", "\tl.workers.End()\n", "", "TestConformance"},
	{"leases are not too short", "lock.go", "\to.TTL = max(o.TTL, shortest)\n", "", "TestConformance$/^GrantedTTL"},
}

// TestMutants: if a rule is broken, a test fails.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) { breaking.Find(t, m.file, m.old, m.with, m.caught) })
	}
}
