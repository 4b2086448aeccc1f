package voter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/leaderrun/leaderrun/locks/backend/quorum/votes"
	"github.com/leaderrun/leaderrun/locks/backend/quorum/wire"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
)

// A place is where a packet came from, and how the answer leaves: from the address that was asked.
type place struct {
	conn *net.UDPConn
	addr netip.AddrPort
	size int // of the packet that came from there
}

// Run serves until ctx ends. It waits for the addresses of the seat; ready is called when it
// listens, with them, again when they have changed.
func (v *Voter) Run(ctx context.Context, ready func([]netip.AddrPort)) error {
	client, err := wire.NewClient(ctx, wire.Real{}, v.sealer, v.c.Names, func(wire.Packet) {})
	if err != nil {
		return err
	}
	defer client.Close()
	for first := true; ctx.Err() == nil; first = false {
		at, waited := v.awaitAddress(ctx, client)
		if ctx.Err() != nil {
			break
		}
		why, _ := v.Abstains()
		if waited || !first { // another may have had the address
			why = "its address was not there, or has changed"
		}
		if err := v.serve(ctx, client, at, why, ready); err != nil {
			return err
		}
	}
	return nil
}

// Lookup pauses.
const (
	addressPause = time.Second
	namePause    = 30 * time.Second
)

// awaitAddress waits until the name of the seat has addresses of this machine, and reports whether
// it had to.
func (v *Voter) awaitAddress(ctx context.Context, client *wire.Client) (at []netip.AddrPort, waited bool) {
	for said := ""; ; waited = true {
		all, err := client.At(v.c.Seat)
		at = slices.DeleteFunc(slices.Clone(all), func(a netip.AddrPort) bool { return !hosts.Ours(a.Addr()) })
		if len(at) > 0 || ctx.Err() != nil {
			return at, waited
		}
		why := fmt.Sprintf("none of its addresses is this machine's: %v", all)
		switch {
		case err != nil:
			why = err.Error()
		case len(all) == 0:
			why = "it has only loopback addresses here, where no other host is: see /etc/hosts"
		}
		if why != said {
			v.c.Log.Warn("waiting for the address of the seat", "seat", v.c.Names[v.c.Seat], "reason", why)
			said = why
		}
		select {
		case <-time.After(addressPause):
			client.Resolve()
		case <-ctx.Done():
		}
	}
}

// serve serves at some addresses, until ctx ends, or one of them is no longer this machine's, or
// the name has got others. If it must abstain first, and why says so, that counts from when it has
// the addresses. Before it votes, it hears from the others whether another claims its seat.
func (v *Voter) serve(ctx context.Context, client *wire.Client, at []netip.AddrPort, why string, ready func([]netip.AddrPort)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	var close []func()
	var conns []*net.UDPConn
	defer func() {
		cancel()
		for _, f := range close {
			f()
		}
	}()
	for _, addr := range at {
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(addr))
		if err != nil {
			return fmt.Errorf("listen at %v: %w", addr, err)
		}
		close = append(close, func() { _ = conn.Close() })
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(addr))
		if err != nil {
			return fmt.Errorf("listen at %v: %w", addr, err)
		}
		close = append(close, func() { _ = l.Close() })
		all.Go(func() { v.acceptAll(ctx, l) })
		conns = append(conns, conn)
	}
	if why != "" {
		v.mu.Lock()
		v.reopen(why)
		v.mu.Unlock()
	}
	v.compare(ctx, client, v.c.Group.Majority(), firstCompare)
	for _, conn := range conns {
		all.Go(func() { v.receiveAll(conn) })
	}
	ready(at)
	all.Go(func() { v.meet(ctx, client) })
	for looked := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case m := <-v.point:
			v.send(m)
		case <-time.After(addressPause):
			if slices.ContainsFunc(at, func(a netip.AddrPort) bool { return !hosts.Ours(a.Addr()) }) {
				v.c.Log.Warn("its address has vanished", "addr", fmt.Sprint(at))
				return nil
			}
			if time.Since(looked) > namePause {
				looked = time.Now()
				client.Resolve()
			}
			if now, err := client.At(v.c.Seat); err == nil {
				now = slices.DeleteFunc(now, func(a netip.AddrPort) bool { return !hosts.Ours(a.Addr()) })
				if len(now) > 0 && !same(now, at) {
					return nil
				}
			}
		}
	}
}

func same(a, b []netip.AddrPort) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x netip.AddrPort) bool { return !slices.Contains(b, x) })
}

// meet compares ids with the other voters, and gathers what records are missing.
func (v *Voter) meet(ctx context.Context, client *wire.Client) {
	pause := time.Second // a fleet starts together
	for ctx.Err() == nil {
		n := v.compare(ctx, client, v.c.Group.Seats, longestCompare)
		if !v.state.whole() && v.gather(ctx, client) != nil {
			n = 0
		}
		if pause = min(2*pause, compares); n == v.c.Group.Seats {
			pause = compares
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// receiveAll receives packets until the socket is closed.
func (v *Voter) receiveAll(conn *net.UDPConn) {
	b := make([]byte, 64<<10)
	for {
		n, addr, err := conn.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(time.Millisecond) // such as an ICMP message about an answer
			continue
		}
		plain, err := v.sealer.Open(b[:n])
		if err != nil {
			continue
		}
		p, err := wire.Decode(plain)
		if err != nil {
			continue
		}
		for _, m := range v.receive(p, place{conn, addr, len(plain)}) {
			v.send(m)
		}
	}
}

// send sends an answer, which may get lost.
func (v *Voter) send(m message) {
	if m.to.conn == nil { // of a promise that we continue
		return
	}
	if plain, err := m.packet.EncodeAnswer(m.to.size); err == nil {
		_, _ = m.to.conn.WriteToUDPAddrPort(v.sealer.Seal(plain), m.to.addr)
	}
}

// The bounds of connections, in all and from one address, and how long one may take to ask.
const (
	maxCalls = 256
	maxFrom  = 64
	patience = 5 * time.Second
)

// acceptAll answers calls until the listener is closed.
func (v *Voter) acceptAll(ctx context.Context, l *net.TCPListener) {
	var all sync.WaitGroup
	defer all.Wait()
	var mu sync.Mutex
	total, from := 0, map[netip.Addr]int{}
	count := func(ip netip.Addr, n int) bool {
		mu.Lock()
		defer mu.Unlock()
		if n > 0 && (total >= maxCalls || from[ip] >= maxFrom) {
			return false
		}
		total += n
		if from[ip] += n; from[ip] == 0 {
			delete(from, ip)
		}
		return true
	}
	for {
		conn, err := l.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // no room for another file
			continue
		}
		ip := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr() //nolint:forcetypeassert // of TCP
		if !count(ip, 1) {
			_ = conn.Close()
			continue
		}
		all.Go(func() {
			defer count(ip, -1)
			defer func() { _ = conn.Close() }()
			v.converse(ctx, conn)
		})
	}
}

// converse answers the call in a connection.
func (v *Voter) converse(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_ = conn.SetDeadline(time.Now().Add(patience))
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	call, err := v.sealer.ReadCall(conn)
	if err != nil {
		return
	}
	if call.Watch != nil { // the caller may hang up
		_ = conn.SetDeadline(time.Now().Add(longestWatch + patience))
		go func() {
			_, _ = conn.Read(make([]byte, 1))
			cancel()
		}()
	}
	reply := v.answer(ctx, call)
	reply.Nonce = call.Nonce
	_ = v.sealer.WriteReply(conn, reply)
}

// Group returns the group of voters at some names, "host:port", which are sorted.
func Group(names []string, longest time.Duration) votes.Group {
	return votes.Group{Seats: len(names), Longest: longest, List: wire.Hash(names)}
}
