package gossip

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// join makes the handle a member. A handle that contends votes as well, as soon as a seat
// of this machine is free; one that only looks does not.
func (l *Lock) join(ctx context.Context, contends bool) error {
	l.starting.Lock()
	defer l.starting.Unlock()
	l.mu.Lock()
	n, closed := l.node, l.closed
	l.mu.Unlock()
	if closed {
		return workers.ErrClosed
	}
	if n == nil {
		if err := l.begin(ctx, contends); err != nil {
			return err
		}
	}
	l.mu.Lock()
	awaits := contends && !l.awaits && len(l.seats) > 0 && !l.seated()
	l.awaits = l.awaits || awaits
	l.mu.Unlock()
	if awaits {
		return l.workers.Go(l.await)
	}
	return nil
}

// seated reports whether the handle has a seat of this machine, or is closed. The caller
// holds l.mu.
func (l *Lock) seated() bool {
	return l.closed || slices.Contains(l.seats, l.node.addr) || l.beacon != nil
}

// begin makes the handle a member.
func (l *Lock) begin(ctx context.Context, contends bool) error {
	seats, ip, err := l.settings.seats(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.seats, l.seeds = seats, resolve(ctx, l.settings.seeds)
	l.mu.Unlock()
	seated := false
	if contends {
		if seated, err = l.sit(); err != nil {
			return err
		}
	}
	if !seated {
		if err := l.enter(netip.AddrPortFrom(ip, 0), false); err != nil {
			return fmt.Errorf("%w: %v", locks.ErrUnavailable, err)
		}
		if contends {
			if err := l.checkPorts(ctx); err != nil {
				return err
			}
		}
	}
	return l.workers.Go(l.meet)
}

// enter makes the handle a member at an address, instead of where it was. Without votes, it
// stays where it was, and can also be found at the address.
func (l *Lock) enter(addr netip.AddrPort, seated bool) error {
	r := role{votes: seated && l.settings.voting(), version: l.o.Version, heard: l.heard, log: l.log}
	l.mu.Lock()
	beacon := l.node != nil && !l.settings.voting() // a member that is seen to leave would lose the lock
	l.mu.Unlock()
	if !beacon {
		r.elder = l.elder
	}
	n, err := l.settings.newNode(l.listen, addr, r)
	if err != nil {
		return err
	}
	l.mu.Lock()
	old := n
	switch {
	case l.closed:
	case beacon:
		old, l.beacon = nil, n
	default:
		old, l.node = l.node, n
	}
	l.mu.Unlock()
	if old != nil {
		old.close()
	}
	return nil
}

// sit takes the first free seat of this machine, and reports whether there was one.
func (l *Lock) sit() (bool, error) {
	for _, seat := range l.seats {
		switch err := l.enter(seat, true); {
		case err == nil:
			l.log.Info("took a seat", "addr", seat.String())
			return true, nil
		case !taken(err):
			return false, locks.Usagef("this host cannot listen at %v: %v", seat, err)
		}
	}
	return false, nil
}

// checkPorts returns an error if another program has the port of a seat of this machine. A
// program that answers is a member, whatever its name.
func (l *Lock) checkPorts(ctx context.Context) error {
	for _, seat := range l.seats {
		if who := user(seat); who != "" && !l.answers(ctx, seat) {
			return locks.Usagef("another program has the port of this host's seat %v: %s; end it, or choose another seat", seat, who)
		}
	}
	return nil
}

// answers reports whether there is a member at a seat.
func (l *Lock) answers(ctx context.Context, seat netip.AddrPort) bool {
	if l.elder != nil {
		_, err := l.node.list.Join([]string{seat.String()})
		return err == nil
	}
	id, heard := rand.Text(), make(chan struct{}, 1)
	l.hear(id, func(packet) { workers.Poke(heard) })
	defer l.hear(id, nil)
	for range 5 {
		l.node.send(seat, packet{From: l.node.addr, Space: l.settings.space, Look: &look{ID: id}}, nil)
		select {
		case <-heard:
			return true
		case <-time.After(again):
		case <-ctx.Done():
			return true // we do not know
		}
	}
	return false
}

// await takes a seat when one becomes free: another run of this machine had it.
func (l *Lock) await(ctx context.Context) {
	for backoff.Sleep(ctx, time.Second) == nil {
		l.mu.Lock()
		seated := l.seated()
		l.mu.Unlock()
		if seated {
			return
		}
		if _, err := l.sit(); err != nil {
			l.log.Warn("cannot take a seat", "err", err)
		}
	}
}

// meet joins the members at the seeds, again and again: they may be down now, or we may
// have been cut off from them for so long that they have forgotten us.
func (l *Lock) meet(ctx context.Context) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		seeds := resolve(ctx, l.settings.seeds)
		l.mu.Lock()
		if len(seeds) > 0 {
			l.seeds = seeds
		}
		n, beacon := l.node, l.beacon
		seeds = l.seeds
		l.mu.Unlock()
		if n == nil {
			return
		}
		if n.seat != nil || n.elder != nil { // others learn from voters where all voters are
			n.meet(seeds)
		}
		if beacon != nil {
			beacon.meet([]netip.AddrPort{n.addr})
		}
		if keys := l.settings.keys.Now(l.log); n.ring != nil {
			_ = useKeys(n.ring, keys) // they have been checked
		}
		if backoff.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// meet joins those members that it does not know. It does not wait for them.
func (n *node) meet(at []netip.AddrPort) {
	for _, addr := range at {
		if addr == n.addr || n.knows(addr) {
			continue
		}
		go func() { // ends after 10 s at the latest
			_, _ = n.list.Join([]string{addr.String()}) // tried again
			if n.elder != nil {
				n.elder.met(addr)
			}
		}()
	}
}

// seats returns the seats of this machine, in the order in which they are taken, and the
// address from which it speaks.
func (s *settings) seats(ctx context.Context) (seats []netip.AddrPort, ip netip.Addr, err error) {
	if s.bind != "" {
		all := resolve(ctx, []string{s.bind})
		if len(all) == 0 {
			return nil, ip, fmt.Errorf("%w: bind=%s cannot be resolved", locks.ErrUnavailable, locks.Abbreviate(s.bind))
		}
		if ip = all[0].Addr(); all[0].Port() != 0 {
			seats = all[:1]
		}
	} else {
		for _, seed := range s.seeds {
			seats = append(seats, ours(resolve(ctx, []string{seed}), local)...)
		}
		if len(seats) == 0 {
			return nil, ip, locks.Usagef("no host in the gossip URL is this machine; name its seat with bind=HOST:PORT, or, if it does not vote, its address with bind=HOST:0")
		}
		ip = seats[0].Addr()
	}
	if s.keys == nil && !s.insecure && !ip.IsLoopback() {
		return nil, ip, locks.Usagef("others could take part at %v: name a file with a secret key with key-file=, or allow it with insecure=true", ip)
	}
	return seats, ip, nil
}

// ours returns the seat that a seed is on this machine, if it is one. A host of several
// addresses has one seat, and all runs on it choose the same: with two it would vote twice.
func ours(all []netip.AddrPort, local func(netip.Addr) bool) []netip.AddrPort {
	all = slices.DeleteFunc(slices.Clone(all), func(a netip.AddrPort) bool { return !local(a.Addr()) })
	slices.SortFunc(all, netip.AddrPort.Compare) // IPv4 is less than IPv6
	return all[:min(len(all), 1)]
}

// resolve returns the addresses of hosts that can be resolved now.
func resolve(ctx context.Context, list []string) (all []netip.AddrPort) {
	for _, item := range list {
		host, port, _ := net.SplitHostPort(item)
		n, _ := strconv.ParseUint(port, 10, 16)
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			continue // perhaps later
		}
		for _, ip := range ips {
			addr := netip.AddrPortFrom(ip.Unmap(), uint16(n))
			if !slices.Contains(all, addr) {
				all = append(all, addr)
			}
		}
	}
	return all
}

// local reports whether an address is this machine's.
func local(ip netip.Addr) bool {
	if ip.IsLoopback() {
		return true
	}
	all, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr() == ip
	})
}
