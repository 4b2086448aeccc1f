package gossip

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/breaking"
)

// mutants are deliberate defects, one for each rule: a text in a file, what replaces it,
// and a test that must fail because of that.
var mutants = []struct{ rule, file, old, with, caught string }{
	{"a new voter abstains", "node.go", "clock.Boot{}, started, floor,", "clock.Boot{}, started.Add(-s.group.Longest), floor,", "TestSeat"},
	{"who looks does not vote", "inspect.go", "	if err := l.join(ctx, false); err != nil {\n		return err\n	}\n	ctx, cancel", "	if err := l.join(ctx, true); err != nil {\n		return err\n	}\n	ctx, cancel", "TestSeat"},
	{"a seat that becomes free is taken", "join.go", "return l.workers.Go(l.await)", "return nil", "TestSeat"},
	{"no seat has two voters", "join.go", "case !taken(err):", "case true:", "TestSeat"},
	{"another program has no seat", "join.go", "who != \"\" && !l.answers(ctx, seat)", "who == \"none\"", "TestPortOfAnother"},
	{"a run has one", "port_linux.go", "exe != us && ", "exe != us+pid && ", "TestPortOfAnother"},
	{"a host has one seat", "join.go", "all[:min(len(all), 1)]", "all", "TestOneSeat"},
	{"no more seeds than voters", "settings.go", "n > s.group.Seats {", "n < 0 {", "TestSettings"},
	{"a lock has its own vote", "seat.go", "b, now := s.ballot([2]string{p.Space, m.Lock})", "b, now := s.ballot([2]string{p.Space, \"\"})", "TestBallots"},
	{"a space has its own locks", "seat.go", "b, now := s.ballot([2]string{p.Space, m.Lock})", "b, now := s.ballot([2]string{\"\", m.Lock})", "TestBallots"},
	{"a promise is not forgotten", "seat.go", "left == 0 {\n			s.floor", "true || left == 0 {\n			s.floor", "TestManyLocks"},
	{"nor is a token", "seat.go", "s.floor = max(s.floor, b.voter.Token())", "", "TestManyLocks"},
	{"a token is written down", "seat.go", "s.tally.note(a.Token)", "s.tally.note(0)", "TestTally"},
	{"and read", "tally.go", "max(today(), t.saved), err", "today(), err", "TestTally"},
	{"before it is reached", "tally.go", "token <= t.saved", "t.saved > 0", "TestTally"},
	{"locks are bounded", "seat.go", "b == nil && len(s.locks) < maxLocks", "b == nil", "TestManyLocks"},
	{"a delayed request binds nobody", "seat.go", "slices.Contains(b.over, m.Ask.Term)", "false", "TestBallots"},
	{"a withdrawal is passed on if it frees", "seat.go", "if !b.free {", "if false {", "TestBallots"},
	{"messages are encrypted", "node.go", "c.Keyring, err = n.ring, useKeys(", "err = useKeys(", "TestKeys"},
	{"keys are read again", "join.go", "_ = useKeys(n.ring, keys)", "_ = keys", "TestKeys"},
	{"without a key only loopback is bound", "join.go", "!s.insecure && !ip.IsLoopback()", "false", "TestSettings"},
	{"who has just started knows nothing", "inspect.go", "p.Found.Group == v.group && p.Found.opens() == 0", "p.Found.Group == v.group", "TestView"},
	{"a minority holds nothing", "inspect.go", "if most+missing < v.group.Majority() {", "if most+missing == 0 {", "TestView"},
	{"another group says nothing", "inspect.go", "if f.Group != v.group || f.Left == 0 {", "if f.Left == 0 {", "TestView"},
	{"a request is repeated", "seat.go", "b.request, b.repeats = p.Request, maxRepeats", "", "TestConformance$/^AskThroughCut"},
	{"a request is delivered once", "ask.go", " || r.Seq <= l.requests[r.Asker]:", ":", "TestRequests"},
	{"to the holder that is meant", "seat.go", "b == nil || b.token != p.Request.Token", "b == nil", "TestRequests"},
	{"to no other", "ask.go", "case r.Token == l.token:", "default:", "TestRequests"},
	{"a list is in order", "list.go", "left > 0 && lock[0] == space && lock[1] > after", "left > 0 && lock[0] == space", "TestNames"},
	{"a new holder is told", "seat.go", "b.changed = before != m.Ask.Term || ", "b.changed = ", "TestWatchers"},
	{"and a release", "seat.go", "b.changed = b.free", "b.changed = false", "TestWatchers"},
	{"a renewal is not", "seat.go", "b.changed = before != m.Ask.Term || b.token != token", "b.changed = true", "TestWatchers"},
	{"the end of a lease is seen", "watch.go", "if left == 0 || lock[0]", "if left < 0 || lock[0]", "TestWatchers"},
	{"watchers are forgotten", "watch.go", " || now > w.until", "", "TestWatchers"},
	{"changes are passed on", "node.go", "if b.changed {", "if false {", "TestToldAtOnce"},
	{"a wrong clock is seen", "probe.go", "theirs < least-least/1000 || ", "", "TestRates"},
	{"and no other", "probe.go", "most+most/1000", "most", "TestRates"},
	{"voters find each other for us", "node.go", "n.learn(p.Seats)", "", "TestLearns"},
	{"only the holder writes", "record.go", "left > 0 && term == r.Term", "(left > 0 || term != r.Term)", "TestRecords"},
	{"a record is not replaced by an older one", "record.go", "if r.newer(old) {", "if r.newer(old) || true {", "TestRecords"},
	{"a voter that starts takes the records", "node.go", "n.seat.merge(b)", "", "TestRecordOutlives"},
	{"the oldest leads", "rank.go", "cmp.Compare(a.card.Since, b.card.Since), ", "", "TestOldest"},
	{"tokens rise", "elder.go", "token := v.token() + 1", "token := v.token()/1000000*1000000 + 1", "TestOldest"},
	{"a minority does not lead", "elder.go", "&& len(v.all) >= e.l.settings.least &&", "&&", "TestMinimum"},
	{"nor go on", "elder.go", "case len(v.all) < e.l.settings.least:", "case false:", "TestMinimum"},
	{"the younger steps down", "elder.go", "case first == nil || first.name != e.name:", "case first == nil:", "TestTwoViews"},
	{"and waits for who leads", "elder.go", " && !v.led(e.name):", ":", "TestPriority"},
	{"a try ends no term", "elder.go", "try && v.led(e.name) {", "false {", "TestPriority"},
}

// TestMutants: if a rule is broken, a test fails.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) { breaking.Find(t, m.file, m.old, m.with, m.caught) })
	}
}
