package gossip

import (
	"crypto/rand"
	"io"
	"log"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/leaderrun/leaderrun/locks/backend/gossip/votes"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
	"github.com/leaderrun/leaderrun/locks/lease/clock"
)

// A transport listens on an address for a member.
type transport func(addr netip.AddrPort) (memberlist.NodeAwareTransport, error)

// listen is the transport over UDP and TCP.
func listen(addr netip.AddrPort) (memberlist.NodeAwareTransport, error) {
	return memberlist.NewNetTransport(&memberlist.NetTransportConfig{
		BindAddrs: []string{addr.Addr().String()}, BindPort: int(addr.Port()), Logger: log.New(io.Discard, "", 0),
	})
}

// A node is one member: its end of the network, and perhaps its vote.
type node struct {
	list *memberlist.Memberlist
	ring *memberlist.Keyring // nil: nothing is encrypted
	addr netip.AddrPort
	seat *seat        // nil: it does not vote
	mine chan arrival // to its own voter, without the network
	// heard takes answers, and withdrawals that a voter passes on. It does not block.
	heard func(packet, *votes.Message)
	elder *elder // nil: the member does not contend by rank
	ended chan struct{}
	wait  sync.WaitGroup

	mu      sync.Mutex
	members map[string]member // by name; the list changes its own without a lock for us
	seats   []netip.AddrPort  // that were seen, the last one last
}

// A member is what the list says of one.
type member struct {
	addr netip.AddrPort
	meta string
}

// An arrival is a packet, with its vote.
type arrival struct {
	packet packet
	vote   *votes.Message
}

// voting is the metadata of a member that votes.
const voting = "votes"

// A role is what a node is for. The zero role is to look.
type role struct {
	votes   bool
	version string                       // of the program
	heard   func(packet, *votes.Message) // as in node; required
	elder   *elder
	log     *slog.Logger // nil discards
}

// newNode joins nobody yet.
func (s *settings) newNode(listen transport, addr netip.AddrPort, r role) (*node, error) {
	t, err := listen(addr)
	if err != nil {
		return nil, err
	}
	started := clock.Boot{}.Now() // the address is ours
	n := &node{heard: r.heard, elder: r.elder, members: map[string]member{}, ended: make(chan struct{}), mine: make(chan arrival, 256)}
	c := memberlist.DefaultLANConfig()
	c.Name = rand.Text()
	c.Transport = t
	c.BindAddr = addr.Addr().String()
	c.TCPTimeout = 5 * time.Second
	c.GossipInterval = 100 * time.Millisecond // to leave takes as long
	c.EnableCompression = false               // it takes more time than everything else
	c.Delegate = n
	c.Logger = log.New(io.Discard, "", 0) // it reports each lost packet
	if r.votes {
		tally, floor, err := openTally(s.stateDir(addr.Addr()), addr)
		if err != nil && r.log != nil {
			r.log.Warn("tokens rise only while the date does: they cannot be read", "err", err)
		}
		n.seat = newSeat(c.Name, s.group, clock.Boot{}, started, floor, r.version)
		n.seat.tally = tally
		if r.log != nil {
			n.seat.log = r.log
		}
	}
	c.Events = n
	if r.elder != nil {
		r.elder.named(c.Name)
	}
	if s.keys != nil {
		n.ring = &memberlist.Keyring{}
		c.Keyring, err = n.ring, useKeys(n.ring, s.keys.Now(nil))
	}
	if err == nil {
		n.addr, err = boundTo(t)
	}
	if err == nil {
		n.list, err = memberlist.Create(c)
	}
	if err != nil {
		_ = t.Shutdown()
		return nil, err
	}
	n.wait.Go(n.serve)
	return n, nil
}

// today is a floor for tokens: the date, in milliseconds.
func today() uint64 { return uint64(max(0, time.Now().UnixMilli())) }

// useKeys makes a keyring have exactly these keys. The first one encrypts.
func useKeys(ring *memberlist.Keyring, keys [][]byte) error {
	for _, key := range keys {
		if err := ring.AddKey(key); err != nil {
			return err
		}
	}
	if err := ring.UseKey(keys[0]); err != nil {
		return err
	}
	for _, old := range ring.GetKeys() {
		if !slices.ContainsFunc(keys, func(key []byte) bool { return string(key) == string(old) }) {
			if err := ring.RemoveKey(old); err != nil {
				return err
			}
		}
	}
	return nil
}

// close ends the vote, leaves, which others learn at once, and stops listening. In this
// order: when the address is free, another process may take the seat, so none of our votes
// may follow.
func (n *node) close() {
	close(n.ended)
	n.wait.Wait()
	_ = n.list.Leave(300 * time.Millisecond) // otherwise others notice it
	_ = n.list.Shutdown()                    // it returns nil
}

// serve lets the node's voter answer, one packet after the other.
func (n *node) serve() {
	for {
		select {
		case <-n.ended:
			return
		case a := <-n.mine:
			if n.seat != nil {
				n.answer(a)
			}
		}
	}
}

func (n *node) answer(a arrival) {
	reply := packet{From: n.addr, Space: a.packet.Space, Seats: n.voters(nil)}
	if a.packet.Look != nil {
		reply.Found, reply.Label = n.seat.look(a.packet)
		look := a.packet.Look
		lock := [2]string{a.packet.Space, look.Lock}
		if look.List {
			reply.Found.Names, reply.Found.More = n.seat.names(a.packet.Space, look.After)
		}
		if look.Read {
			reply.Found.Record = n.seat.record(lock)
		}
		if look.Write != nil {
			reply.Found.Kept = n.seat.write(lock, look.Write)
		}
		n.send(a.packet.From, reply, nil)
		if to, ok := n.seat.holder(a.packet); ok {
			n.send(to, packet{From: n.addr, Space: a.packet.Space, Request: a.packet.Request}, nil)
		}
		return
	}
	vote, b := n.seat.vote(a.packet, *a.vote)
	if b == nil {
		return
	}
	if b.changed {
		for _, w := range n.seat.told(a.packet.Space, a.vote.Lock) {
			n.send(w.at, packet{From: n.addr, Space: a.packet.Space, Found: &found{ID: w.id, Group: n.seat.group}}, nil)
		}
	}
	if vote.Vote == votes.Bound {
		reply.Label, reply.Place = b.label, b.place(a.vote.Ask.Term.Candidate)
	}
	n.send(a.packet.From, reply, &votes.Message{Lock: a.vote.Lock, Answer: &vote})
	if r := b.again(vote); r != nil {
		n.send(a.packet.From, packet{From: n.addr, Space: a.packet.Space, Request: r}, nil)
	}
	if a.vote.Withdrawal != nil {
		for i, w := range b.freed() {
			n.send(w.at, packet{From: n.addr, Space: a.packet.Space, Place: i}, a.vote)
		}
	}
}

// send sends a packet over UDP, once, or passes it on to this node itself. It calls heard
// only for what a voter sends, never for what a handle does.
func (n *node) send(to netip.AddrPort, p packet, m *votes.Message) {
	if to == n.addr {
		if a := (arrival{p, m}); a.asks() {
			n.put(a)
		} else {
			n.heard(p, m)
		}
		return
	}
	if b, err := p.encode(m); err == nil {
		_ = n.list.SendToAddress(memberlist.Address{Addr: to.String()}, b) // it may get lost anyway
	}
}

// asks reports whether a packet is for a voter.
func (a arrival) asks() bool { return a.packet.Look != nil || a.vote != nil && a.vote.Answer == nil }

// put passes a packet on to this node's voter. It does not block: one that is too slow
// misses some.
func (n *node) put(a arrival) {
	select {
	case n.mine <- a:
	default:
	}
}

// ask sends a packet to all voters: the seeds, and the members that vote or have voted.
func (n *node) ask(seeds []netip.AddrPort, p packet, m *votes.Message) {
	for _, to := range n.voters(seeds) {
		n.send(to, p, m)
	}
}

// voters returns where voters may be. A member that cannot be reached is forgotten by the
// others, and by us only when there are too many, so that votes need no membership.
func (n *node) voters(seeds []netip.AddrPort) []netip.AddrPort {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.members {
		if m.meta == voting {
			n.know(m.addr)
		}
	}
	all := slices.Clone(seeds)
	for _, addr := range n.seats {
		if !slices.Contains(all, addr) {
			all = append(all, addr)
		}
	}
	return all
}

// learn takes voters of which another member knows.
func (n *node) learn(seats []netip.AddrPort) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, addr := range seats {
		n.know(addr)
	}
}

// know notes where a voter is. The caller holds n.mu.
func (n *node) know(addr netip.AddrPort) {
	if !slices.Contains(n.seats, addr) {
		n.seats = append(n.seats[max(0, len(n.seats)-maxSeats+1):], addr)
	}
}

// boundTo returns the address of a transport.
func boundTo(t memberlist.NodeAwareTransport) (netip.AddrPort, error) {
	bound, port, err := t.FinalAdvertiseAddr("", 0)
	ip, _ := netip.AddrFromSlice(bound)
	return netip.AddrPortFrom(ip.Unmap(), uint16(port)), err
}

// inSight returns all members that are not known to be dead, by name.
func (n *node) inSight() map[string]member {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.members)
}

// knows reports whether there is a member at an address.
func (n *node) knows(addr netip.AddrPort) bool {
	for _, m := range n.inSight() {
		if m.addr == addr {
			return true
		}
	}
	return false
}

// NotifyJoin implements [memberlist.EventDelegate]. The list is locked.
func (n *node) NotifyJoin(m *memberlist.Node) {
	ip, _ := netip.AddrFromSlice(m.Addr)
	n.note(m.Name, member{netip.AddrPortFrom(ip.Unmap(), m.Port), string(m.Meta)})
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
	if n.elder != nil {
		workers.Poke(n.elder.changed)
	}
}

// NodeMeta implements [memberlist.Delegate].
func (n *node) NodeMeta(int) []byte {
	switch {
	case n.seat != nil:
		return []byte(voting)
	case n.elder != nil:
		return n.elder.publish()
	}
	return nil
}

// NotifyMsg implements [memberlist.Delegate].
func (n *node) NotifyMsg(b []byte) {
	p, m, err := decode(b)
	if err != nil {
		return
	}
	if a := (arrival{p, m}); a.asks() && n.seat != nil {
		n.put(a)
	}
	if n.seat == nil {
		n.learn(p.Seats)
	}
	if p.Found != nil || p.Request != nil && p.Look == nil || m != nil && m.Ask == nil { // a withdrawal of another, or an answer
		n.heard(p, m)
	}
}

// GetBroadcasts implements [memberlist.Delegate].
func (n *node) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements [memberlist.Delegate].
func (n *node) LocalState(bool) []byte {
	switch {
	case n.seat != nil:
		return n.seat.state()
	case n.elder != nil:
		return n.elder.time()
	}
	return nil
}

// MergeRemoteState implements [memberlist.Delegate].
func (n *node) MergeRemoteState(b []byte, _ bool) {
	switch {
	case n.seat != nil:
		n.seat.merge(b)
	case n.elder != nil:
		n.elder.learn(b)
	}
}

// taken reports whether an address is in use by another process. Other errors are those of
// an address that is not this machine's, or of a port that we may not use.
func taken(err error) bool {
	return strings.Contains(err.Error(), "address already in use") || strings.Contains(err.Error(), "Only one usage of each socket address")
}

var (
	_ memberlist.Delegate      = (*node)(nil)
	_ memberlist.EventDelegate = (*node)(nil)
)
