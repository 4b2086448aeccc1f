package votes

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/breaking"
)

// mutants are deliberate defects, one for each rule: a text in a file, what replaces it, and
// a test that must fail because of that.
var mutants = []struct{ rule, file, old, with, caught string }{
	{"a voter votes for one", "voter.go", "now < v.until && a.Term != v.bound &&", "false &&", models},
	{"a later term ends those before", "message.go", "t.Number > earlier.Number", "false", "TestLaterTerm"},
	{"but no earlier one does", "message.go", "t.Number > earlier.Number", "true", "TestLaterTerm"},
	{"of the same candidate", "message.go", "t.Candidate == earlier.Candidate && ", "", models},
	{"and is bound for L", "voter.go", "now.Add(a.TTL)", "now.Add(a.TTL/2)", models},
	{"a new voter abstains", "voter.go", "started.Add(g.Longest)", "started", models},
	{"for the longest L", "voter.go", "started.Add(g.Longest)", "started.Add(g.Longest / 2)", models},
	{"a withdrawal frees its own term", "voter.go", "if v.bound == w.Term {", "if true {", models},
	{"a withdrawal frees", "voter.go", "v.bound, v.until = Term{}, 0", "", "TestTerm"},
	{"a voter notes tokens", "voter.go", "v.token = max(v.token, a.Token)", "", models},
	{"also if it refuses", "voter.go", "v.token = max(v.token, a.Token)\n\tvote := v.decide(now, a)", "vote := v.decide(now, a)\n\tif vote == Granted {\n\t\tv.token = max(v.token, a.Token)\n\t}", "TestNotes"},
	{"tokens do not start again", "voter.go", "token: floor", "token: floor * 0", models},
	{"groups agree", "voter.go", "a.Group != v.group || ", "", "TestRefusals"},
	{"no lease is too long", "voter.go", " || a.TTL > v.group.Longest", "", "TestRefusals"},
	{"a majority is needed", "group.go", "g.Seats/2 + 1", "g.Seats / 2", models},
	{"clocks are wrong", "group.go", "ttl - ttl/1000", "ttl", "TestSearch"},
	{"both of them", "group.go", "ttl - ttl/1000", "ttl - ttl/2000", "TestSearch"},
	{"E counts from the sending", "candidate.go", "return c.add(a)", "c.sent = now\n\treturn c.add(a)", models},
	{"a round counts its own answers", "candidate.go", "case a.Round != c.round || ", "case ", models},
	{"and no earlier ones", "candidate.go", "c.sent, c.voters, c.grants, c.abstaining, c.won = now, nil, 0, 0, false", "c.sent, c.won = now, false", models},
	{"a round ends", "candidate.go", " || now >= c.sent.Add(trusted(c.ttl))", "", "TestSearch"},
	{"a voter counts once", "candidate.go", "slices.Contains(c.voters, a.Voter)", `slices.Contains(c.voters, "")`, models},
	{"refusals are no votes", "candidate.go", "\tcase Granted:\n\t\tc.grants++", "\tdefault:\n\t\tc.grants++", "TestElections|TestTerm"},
	{"a term ends", "candidate.go", "c.deadline > 0 && now >= c.deadline\n", "false\n", models},
	{"a withdrawn term is over", "candidate.go", "return c.withdrawn || ", "return ", models},
	{"the token is recorded", "candidate.go", "c.recorded = c.token > 0", "c.recorded = true", models},
	{"it is the greatest", "candidate.go", "max(c.greatest, a.Token)", "a.Token", models},
	{"and one more", "candidate.go", "c.token = c.greatest + 1", "c.token = max(c.greatest, 1)", models},
	{"a term keeps its token", "candidate.go", "\tif c.token == 0 {\n\t\tc.token =", "\t{\n\t\tc.token =", "TestTerm"},
	{"a token above the last is none", "candidate.go", "if c.token == 0 && c.greatest+1 == 0 {", "if false {", "TestLastToken"},
	{"a late vote is withdrawn", "candidate.go", "return Ghost", "return Open", "TestGhost"},
	{"but not one of the term", "candidate.go", "case a.Term != c.term || c.over(now):", "case a.Round != c.round || c.over(now):", "TestGhost|" + models},
	{"too many voters are reported", "candidate.go", "return Crowded", "return Open", "TestCrowded"},
	{"one that starts again is not", "candidate.go", "len(c.voters)-c.abstaining > c", "len(c.voters) > c", "TestCrowded"},
	{"a lost round ends early", "candidate.go", "case refusals > c.group.Seats-c.group.Majority():", "case refusals < 0:", "TestTerm"},
	{"messages are bounded", "message.go", "if len(b) > MaxMessage {\n", "if false {\n", "TestInvalidMessages"},
}

// models are the tests that look for two leaders and for tokens that do not rise.
const models = "TestSearch|TestElections"

// TestMutants: if a rule is broken, a test fails.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) { breaking.Find(t, m.file, m.old, m.with, m.caught) })
	}
}
