package faults

import (
	"fmt"
	"testing"

	"github.com/leaderrun/leaderrun/faults/host"
)

// gossipStore is no server: the runs of the hosts vote, so each fault of a host is one of a
// voter, too.
func gossipStore(t *testing.T, p plan) *store {
	return members(t, fmt.Sprintf("expect=%d&longest=%v", p.machines(), ttl))
}

// gossipOldest has no votes: the oldest host leads, in each part of the network.
func gossipOldest(t *testing.T, _ plan) *store { return members(t, "min=1") }

// members are hosts that reach each other, and whose boot clocks are days apart.
func members(t *testing.T, query string) *store {
	dir := t.TempDir()
	return &store{members: true, env: func(addrs []string) []string {
		return append([]string{"LEADERRUN_GOSSIP_DIR=" + dir}, backend("gossip", addrs, "?insecure=true&"+query)...)
	}}
}

// memberFaults cut pairs of hosts: the others are bridges between them.
func memberFaults() []fault {
	pair := func(name string, cut func(one, other *host.Host) (heal []func())) fault {
		return fault{name, func(n *nemesis, m *machine) bool {
			other := n.c.hosts[n.rand.IntN(len(n.c.hosts))]
			if other == m {
				return false
			}
			heal := cut(m.Host, other.Host)
			n.pass()
			for _, f := range heal {
				f()
			}
			return true
		}}
	}
	return append(packetFaults(),
		pair("two hosts cut from each other", func(one, other *host.Host) []func() { return []func(){one.Lose(other), other.Lose(one)} }),
		pair("cut to another host", func(one, other *host.Host) []func() { return []func(){one.Lose(other)} }),
		pair("cut from another host", func(one, other *host.Host) []func() { return []func(){other.Lose(one)} }))
}
