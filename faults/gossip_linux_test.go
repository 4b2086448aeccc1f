package faults

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/leaderrun/leaderrun/faults/host"
)

// gossipOldest has no server: the oldest host leads, in each part of the network. The boot
// clocks of the hosts are days apart.
func gossipOldest(t *testing.T, _ plan) *store {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("MDEyMzQ1Njc4OWFiY2RlZg=="), 0o600); err != nil {
		t.Fatal(err)
	}
	return &store{members: true, env: func(addrs []string) []string { return backend("gossip", addrs, "?min=1&key-file="+key) }}
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
