package gossip

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/backoff"
	"github.com/leaderrun/leaderrun/locks/kit/hosts"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// enter makes the handle a member, and waits until it has met the others. A handle that
// contends takes the seat of this machine, as soon as that is free.
func (l *Lock) enter(ctx context.Context, contends bool) error {
	l.entering.Lock()
	defer l.entering.Unlock()
	ctx, cancel := l.workers.Until(ctx)
	defer cancel()
	switch {
	case l.workers.Over():
		return workers.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case l.member() == nil:
		if err := l.begin(ctx, contends); err != nil {
			return err
		}
	}
	if err := l.await(contends); err != nil {
		return err
	}
	return l.greet(ctx)
}

// begin makes the handle a member.
func (l *Lock) begin(ctx context.Context, contends bool) error {
	seeds, seat, err := l.settings.place(ctx)
	if err != nil {
		return err
	}
	at, free := seat, netip.AddrPortFrom(seat.Addr(), 0)
	if !contends {
		at = free
	}
	n, err := l.newNode(at)
	if err != nil && taken(err) {
		n, err = l.newNode(free)
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "permission denied"):
		return locks.Usagef("this host cannot listen at %v: %v", seat, err)
	case err != nil:
		return fmt.Errorf("%w: %w", locks.ErrUnavailable, err)
	}
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.node, l.seat, l.seeds = n, seat, seeds
	}
	l.mu.Unlock()
	if closed {
		n.close()
		return workers.ErrClosed
	}
	return l.workers.Go(l.meet)
}

// greet waits, once, until each seed has answered or has been tried, and then for the view
// to settle.
func (l *Lock) greet(ctx context.Context) error {
	if l.settled {
		return nil
	}
	late := time.Now().Add(l.o.ConnectTimeout / 2)
	for !l.greeted() && time.Now().Before(late) {
		if err := l.pause(ctx); err != nil {
			return err
		}
	}
	if err := backoff.Sleep(ctx, settling/2); err != nil {
		return err
	}
	l.settled = true
	return nil
}

func (l *Lock) greeted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node != nil && !slices.ContainsFunc(l.seeds, func(seed netip.AddrPort) bool { return seed != l.node.addr && !l.tried[seed] })
}

// await lets others find us at the seat of this machine, as soon as no other run has it.
func (l *Lock) await(contends bool) error {
	l.mu.Lock()
	n, seat := l.node, l.seat
	begins := contends && !l.awaits && n != nil && seat.Port() != 0 && seat != n.addr
	l.awaits = l.awaits || begins
	l.mu.Unlock()
	if !begins {
		return nil
	}
	return l.workers.Go(func(ctx context.Context) {
		for n.filter.openDoor(seat) != nil && backoff.Sleep(ctx, time.Second) == nil {
		}
	})
}

// meet joins the members at the seeds, again and again: they may be down now, or we may
// have been cut off from them for so long that they have forgotten us.
func (l *Lock) meet(ctx context.Context) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		seeds, _ := resolve(ctx, l.settings.seeds)
		l.mu.Lock()
		if len(seeds) > 0 {
			l.seeds = seeds
		}
		n := l.node
		seeds = l.seeds
		l.mu.Unlock()
		if n == nil {
			return
		}
		for _, seed := range seeds {
			if seed != n.addr && n.at(seed) == "" {
				go l.join(n, seed) // ends after 10 s at the latest
			}
		}
		if keys := l.settings.keys.Now(l.log); n.ring != nil {
			useKeys(n.ring, keys)
		}
		if backoff.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// join joins the members that a seed knows.
func (l *Lock) join(n *node, seed netip.AddrPort) {
	_, _ = n.list.Join([]string{seed.String()}) // tried again
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried[seed] = true
	workers.Poke(l.changed)
}

// place returns the addresses of the seeds, and where this machine listens. What may be
// different soon, such as a name that is not yet known, is an ErrUnavailable.
func (s *settings) place(ctx context.Context) (seeds []netip.AddrPort, seat netip.AddrPort, err error) {
	seeds, missing := resolve(ctx, s.seeds)
	ours := slices.DeleteFunc(slices.Clone(seeds), func(a netip.AddrPort) bool { return !hosts.Ours(a.Addr()) })
	if s.bind != "" {
		ours, _ = resolve(ctx, []string{s.bind})
	}
	apart := func(a netip.AddrPort) bool { return !a.Addr().IsLoopback() }
	if i := slices.IndexFunc(ours, apart); i > 0 {
		ours = ours[i:]
	}
	switch {
	case len(ours) == 0 && s.bind != "":
		err = fmt.Errorf("%w: bind=%s cannot be resolved", locks.ErrUnavailable, locks.Abbreviate(s.bind))
	case len(ours) == 0 && missing != nil, len(ours) > 0 && !apart(ours[0]) && missing != nil:
		err = fmt.Errorf("%w: %w", locks.ErrUnavailable, missing)
	case len(ours) == 0:
		err = fmt.Errorf("%w: no host in the gossip URL is this machine, or its address is not there yet: if it never will be, say where to listen with bind=HOST:PORT", locks.ErrUnavailable)
	case !apart(ours[0]) && slices.ContainsFunc(seeds, apart):
		err = locks.Usagef("this host would listen at %v, where no other reaches it: take its name out of the line of that address in /etc/hosts, or name another address with bind=HOST:PORT", ours[0].Addr())
	case s.keys == nil && apart(ours[0]):
		err = locks.Usagef("others could take part at %v: name a file with a secret key with key-file=", ours[0].Addr())
	default:
		seat = ours[0]
	}
	return seeds, seat, err
}

// resolve returns the addresses of hosts that can be resolved now, in the order of the
// list, and IPv4 before IPv6, so that all runs on a machine take the same. The error is of
// one that cannot be resolved.
func resolve(ctx context.Context, list []string) (all []netip.AddrPort, missing error) {
	for _, item := range list {
		at, err := hosts.Addresses(ctx, item)
		if err != nil {
			missing = err
		}
		for _, addr := range at {
			if !slices.Contains(all, addr) {
				all = append(all, addr)
			}
		}
	}
	return all, missing
}
