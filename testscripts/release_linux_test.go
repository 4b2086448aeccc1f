package testscripts

import (
	"strings"
	"testing"

	"github.com/leaderrun/leaderrun/locks/etcd/etcdtest"
)

// Who is asked at a terminal is believed, and whoever says nothing has not said yes.
func TestReleaseAsks(t *testing.T) {
	s := bash(t)
	b := etcdtest.Start(t, etcdtest.Options{}).URL()
	s.run("leaderrun -b " + b + " -l x --id web1 -- sleep 1000 2>err &")
	s.run("leaderrun wait -b " + b + " -l x --for held")
	s.key("leaderrun release -b " + b + " -l x --force\n")
	s.expect(`held by web1`)
	s.expect(`Break it\? \[y/N\] `)
	s.key("\n")
	s.expect(`lock "x" was not broken`)
	s.is("leaderrun status -b "+b+" -l x >/dev/null", "0")
	s.key("leaderrun release -b " + b + " -l x --force\n")
	s.expect(`Break it\? \[y/N\] `)
	s.key("y\n")
	s.expect(`web1 lost lock "x"`)
	if got := s.run("wait %1"); !strings.HasSuffix(got, "76") {
		t.Errorf("the holder has ended with %q; want 76", got)
	}
	if got := s.text("err"); !strings.Contains(got, `leadership of "x" was lost and the job was stopped`) {
		t.Errorf("the holder says %q", got)
	}
}
