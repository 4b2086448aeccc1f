package faults

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/leaderrun/leaderrun/faults/host"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
	"github.com/leaderrun/leaderrun/locks/backend/zookeeper/zktest"
	"github.com/leaderrun/leaderrun/locks/lockstest/realserver"
	"github.com/leaderrun/leaderrun/locks/lockstest/tester"
)

// A member of a cluster.
type member interface {
	server
	comparable
	Addr() string
	WaitReady()
}

// links are the networks of a cluster's members. Without such networks there are none.
type links []*host.Host

// newLinks makes n networks whose hosts reach each other.
func newLinks(t *testing.T, n int) links {
	all := host.New(t, host.Options{Hosts: n, Routed: true})
	if all[0].Network() != host.Namespace {
		return nil
	}
	return all
}

// places are where the members run.
func (l links) places() (all []realserver.Place) {
	for _, h := range l {
		all = append(all, h.Place())
	}
	return all
}

// cut cuts what a member sends to all others, what they send to it, or both. Clients reach
// every member as before.
func (l links) cut(i int, sent, received bool) (heal func()) {
	var heals []func()
	for j, other := range l {
		if sent && j != i {
			heals = append(heals, l[i].Lose(other))
		}
		if received && j != i {
			heals = append(heals, other.Lose(l[i]))
		}
	}
	return func() {
		for _, f := range heals {
			f()
		}
	}
}

// linkFaults cut a member off from the others: mostly the leader.
func linkFaults[M member](l links, cluster []M, leader func() M) []fault {
	if l == nil {
		return nil
	}
	lost := func(name string, sent, received bool) fault {
		return fault{name, func(n *nemesis, _ *machine) bool {
			i := pick(n.rand, []choice[func() int]{
				{70, func() int { return slices.Index(cluster, leader()) }},
				{30, func() int { return n.rand.IntN(len(cluster)) }},
			})()
			heal := l.cut(i, sent, received)
			n.pass()
			heal()
			cluster[i].WaitReady()
			return true
		}}
	}
	return []fault{
		lost("member cut off from the others", true, true),
		lost("cut from a member to the others", true, false),
		lost("cut to a member from the others", false, true),
	}
}

// TestLinks checks that a leader that is cut off is replaced while clients can still reach it.
func TestLinks(t *testing.T) {
	t.Parallel()
	t.Run("etcd", func(t *testing.T) {
		t.Parallel()
		testLinks(t, func(l links) etcdtest.Cluster {
			return etcdtest.StartCluster(t, len(l), etcdtest.Options{Places: l.places()})
		}, etcdtest.Cluster.Leader)
	})
	t.Run("consul", func(t *testing.T) {
		t.Parallel()
		inLong(t)
		// Otherwise a server that was cut off is removed, and has no vote until ten seconds after it is back.
		testLinks(t, func(l links) consultest.Cluster {
			return consultest.StartCluster(t, len(l), consultest.Options{Places: l.places(), HCL: []string{"autopilot { cleanup_dead_servers = false }"}})
		}, consultest.Cluster.Leader)
	})
	t.Run("zookeeper", func(t *testing.T) {
		t.Parallel()
		inLong(t)
		testLinks(t, func(l links) zktest.Ensemble {
			return zktest.StartEnsemble(t, len(l), zktest.Options{Places: l.places()})
		}, zktest.Ensemble.Leader)
	})
}

func inLong(t *testing.T) {
	if !tester.Long() {
		t.Skip("left to make test-long: takes half a minute, or ten seconds of a processor")
	}
}

func testLinks[C ~[]M, M member](t *testing.T, start func(links) C, leader func(C) M) {
	l := newLinks(t, 3)
	if l == nil {
		realserver.Missing(t, "without networks of their own (root, and ip(8)), members cannot be cut off")
	}
	c := start(l)
	for _, way := range []struct{ sent, received bool }{{true, true}, {true, false}, {false, true}} {
		old := leader(c)
		i := slices.Index(c, old)
		begun := time.Now()
		heal := l.cut(i, way.sent, way.received)
		next := leader(slices.Delete(slices.Clone(c), i, i+1)) // or the test fails
		t.Logf("cut %+v: %s leads instead of %s after %v", way, next.Addr(), old.Addr(), time.Since(begun).Round(time.Millisecond))
		conn, err := net.DialTimeout("tcp", old.Addr(), 5*time.Second)
		if err != nil {
			t.Errorf("a client does not reach the member that is cut off: %v", err)
		} else {
			_ = conn.Close()
		}
		heal()
		begun = time.Now()
		old.WaitReady()
		t.Logf("ready %v after the cut", time.Since(begun).Round(time.Millisecond))
	}
}
