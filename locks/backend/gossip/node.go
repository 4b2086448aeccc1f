package gossip

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// ourLabel keeps us out of the clusters of other programs, and them out of ours.
const ourLabel = "leaderrun"

// maxMembers is how many members a node knows.
const maxMembers = 1024

// A transport listens on an address for a member.
type transport func(addr netip.AddrPort) (memberlist.NodeAwareTransport, error)

// listen is the transport over UDP and TCP.
func listen(addr netip.AddrPort) (memberlist.NodeAwareTransport, error) {
	return memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{addr.Addr().String()}, BindPort: int(addr.Port()), Logger: log.New(io.Discard, "", 0),
	})
}

// A node is a handle's end of the network.
type node struct {
	l      *Lock
	list   *memberlist.Memberlist
	filter *filter
	ring   *memberlist.Keyring // nil: nothing is encrypted
	addr   netip.AddrPort

	mu      sync.Mutex
	members map[string]member // by name; the list changes its own without a lock for us
}

// A member is what the list says of one.
type member struct {
	addr netip.AddrPort
	meta string
}

// newNode joins nobody yet.
func (l *Lock) newNode(addr netip.AddrPort) (*node, error) {
	t, err := l.listen(addr)
	if err != nil {
		return nil, err
	}
	n := &node{l: l, members: map[string]member{}, filter: newFilter(t, l.settings.keys != nil)}
	c := memberlist.DefaultLANConfig()
	c.Name = l.id
	c.Label = ourLabel
	c.Transport = n.filter
	c.BindAddr = addr.Addr().String()
	c.TCPTimeout = 5 * time.Second
	c.GossipInterval = 100 * time.Millisecond // to leave takes as long
	c.GossipToTheDeadTime = 2 * time.Second   // what is sent to the dead does not reach the living
	c.RetransmitMult = 8                      // to random members, some of whom know it already
	c.SuspicionMaxTimeoutMult = 1             // few have others that confirm it
	c.AwarenessMaxMultiplier = 2              // several that have ended are no fault of ours
	c.EnableCompression = false               // the filter drops it
	c.Delegate, c.Events, c.Alive = n, n, n
	c.Logger = log.New(io.Discard, "", 0) // it reports each lost packet
	if l.settings.keys != nil {
		c.Keyring = &memberlist.Keyring{}
		useKeys(c.Keyring, l.settings.keys.Now(nil))
	}
	if n.list, err = memberlist.Create(c); err != nil {
		_ = n.filter.Shutdown()
		return nil, err
	}
	n.ring = c.Keyring
	n.addr = addrOf(n.list.LocalNode())
	return n, nil
}

// useKeys makes a keyring have exactly these keys. The first one encrypts. Their lengths have
// been checked.
func useKeys(ring *memberlist.Keyring, keys [][]byte) {
	for _, key := range keys {
		_ = ring.AddKey(key)
	}
	_ = ring.UseKey(keys[0])
	for _, old := range ring.GetKeys() {
		if !slices.ContainsFunc(keys, func(key []byte) bool { return bytes.Equal(key, old) }) {
			_ = ring.RemoveKey(old)
		}
	}
}

// close leaves, which others learn at once, and stops listening.
func (n *node) close() {
	_ = n.list.Leave(300 * time.Millisecond) // otherwise others notice it
	_ = n.list.Shutdown()                    // it returns nil
}

// inSight returns all members that are not known to be dead, by name.
func (n *node) inSight() map[string]member {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.members)
}

// at returns the name of the member at an address, or "".
func (n *node) at(addr netip.AddrPort) string {
	for name, m := range n.inSight() {
		if m.addr == addr {
			return name
		}
	}
	return ""
}

// NotifyAlive implements [memberlist.AliveDelegate].
func (n *node) NotifyAlive(m *memberlist.Node) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.members[m.Name]; !known && len(n.members) >= maxMembers || len(m.Name) > maxID || len(m.Meta) > maxCard {
		return errors.New("out of bounds")
	}
	return nil
}

// NotifyJoin implements [memberlist.EventDelegate]. The list is locked.
func (n *node) NotifyJoin(m *memberlist.Node) {
	n.note(m.Name, member{addrOf(m), string(m.Meta)})
}

func addrOf(m *memberlist.Node) netip.AddrPort {
	ip, _ := netip.AddrFromSlice(m.Addr)
	return netip.AddrPortFrom(ip.Unmap(), m.Port)
}

// NotifyUpdate implements [memberlist.EventDelegate].
func (n *node) NotifyUpdate(m *memberlist.Node) { n.NotifyJoin(m) }

// NotifyLeave implements [memberlist.EventDelegate].
func (n *node) NotifyLeave(m *memberlist.Node) { n.note(m.Name, member{}) }

// note notes what is known of a member; nothing, if it has left.
func (n *node) note(name string, m member) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.members[name] = m; m == (member{}) {
		delete(n.members, name)
	}
	workers.Poke(n.l.changed)
}

// NodeMeta implements [memberlist.Delegate].
func (n *node) NodeMeta(int) []byte { return n.l.publish() }

// NotifyMsg implements [memberlist.Delegate].
func (n *node) NotifyMsg(b []byte) {
	var r request
	if len(b) <= maxRequest && json.Unmarshal(b, &r) == nil && len(r.ID) <= maxID && locks.CheckText([]byte(r.Text)) == nil {
		n.l.receive(r)
	}
}

// GetBroadcasts implements [memberlist.Delegate].
func (n *node) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements [memberlist.Delegate].
func (n *node) LocalState(bool) []byte { return n.l.time() }

// MergeRemoteState implements [memberlist.Delegate].
func (n *node) MergeRemoteState(b []byte, _ bool) { n.l.learn(b) }

// taken reports whether an address is in use by another process.
func taken(err error) bool {
	return strings.Contains(err.Error(), "address already in use") || strings.Contains(err.Error(), "Only one usage of each socket address")
}

var (
	_ memberlist.Delegate      = (*node)(nil)
	_ memberlist.EventDelegate = (*node)(nil)
	_ memberlist.AliveDelegate = (*node)(nil)
)
