package zookeeper_test

import (
	"testing"

	"github.com/leaderrun/leaderrun/locks/lockstest/drive"
	"github.com/leaderrun/leaderrun/locks/zookeeper/zktest"
)

// TestServersThatKnowEverybody: some refuse whatever comes from those who have not
// said who they are, on each connection.
func TestServersThatKnowEverybody(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{Java: []string{"-Dzookeeper.enforce.auth.enabled=true", "-Dzookeeper.enforce.auth.schemes=digest"}})
	address := "zk://me:secret@" + s.Addr() + "/p"
	w, a := handle(t, address, options("w")), handle(t, address, options("a"))
	changes := watch(t, w, true)
	token := drive.Hold(t, a).Token
	write(t, a)
	changed(t, changes, "a leads", func() bool { return inspect(t, w).Holder == "a" })
	if got := probe(t, address, options("w")).Servers[0]; got.Error != "" || got.Role != "standalone" {
		t.Errorf("got %+v", got)
	}
	if all := list(t, w, nil); len(all) != 1 || all[0].Status.Token != token {
		t.Errorf("listed: %+v", all)
	}
	if err := w.Break(drive.Context(t), token); err != nil {
		t.Error(err)
	}
	changed(t, changes, "nobody leads", func() bool { return !inspect(t, w).Held })
	drive.Release(t, a)
	if err := w.Forget(drive.Context(t)); err != nil {
		t.Error(err)
	}
}
