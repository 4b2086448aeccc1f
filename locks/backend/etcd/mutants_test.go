package etcd

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/breaking"
)

// mutants are deliberate defects, one for each step of the proof that who is next leads: a
// text in a file, what replaces it, and a test that must fail because of that.
var mutants = []struct{ rule, file, old, with, caught string }{
	{"each event counts", "next.go", "range resp.Events {", "range resp.Events[:1] {", "TestNextInLine"},
	{"only a deletion counts", "next.go", "ev.Type == clientv3.EventTypeDelete && ", "", "TestNextInLine"},
	{"an event before the view does not count", "next.go", " && ev.Kv.ModRevision > v.revision", "", "TestAnswers"},
	{"our entry still exists", "next.go", "gone[string(v.own.Key)], gone", "false, gone", "TestNextInLine"},
	{"the entry that is gone is the one before ours", "next.go", "gone[string(v.before.Key)]", "len(gone) > 0", "TestNextInLine"},
	{"that entry leads", "next.go", "case v.next && !own && resp", "case !own && resp", "TestNextInLine"},
	{"the cluster has the same leader", "next.go", "resp.Header.GetRaftTerm() == v.term", "true", "TestAnswers"},
	{"the deletion proves it", "next.go", "case v.next && !own && resp", "case false && resp", "TestNextNeedsNoAnswer"},
	{"no request follows", "wait.go", "if e.view.leads() {", "if false {", "TestNextNeedsNoAnswer"},
	{"more than one entry is before ours", "queue.go", " && !resp.Responses[last].GetResponseRange().More", "", "TestNextOfTies"},
	{"who becomes next learns of that", "wait.go", "if e.view.next {", "if o = append(o, clientv3.WithFilterPut()); e.view.next {", "TestNextNeedsNoAnswer"},
	{"a watch begins after the view", "wait.go", "clientv3.WithRev(e.view.revision + 1)", "clientv3.WithRev(0)", "TestNextMissesNothing"},
	{"a leader finds out if its watch was wrong", "queue.go", "if err == nil && !resp.Succeeded {", "if false && !resp.Succeeded {", "TestNextWithDefectiveWatch"},
}

// TestMutants: if a rule is broken, a test fails.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) { breaking.Find(t, m.file, m.old, m.with, m.caught) })
	}
}
