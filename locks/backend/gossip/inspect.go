package gossip

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/leaderrun/leaderrun/locks"
	"github.com/leaderrun/leaderrun/locks/kit/workers"
)

// Inspect implements [locks.Inspector]: it says who leads in the view of this member.
func (l *Lock) Inspect(ctx context.Context) (locks.State, error) {
	if err := l.enter(ctx, false); err != nil {
		return locks.State{}, l.fail(ctx, "inspect", err)
	}
	v := l.view()
	l.mu.Lock()
	now := l.timeline.now()
	l.mu.Unlock()
	return locks.State{Status: v.leader(), Details: v.details(now)}, nil
}

// Probe implements [locks.Prober]. It asks each seed over TCP and over UDP.
func (l *Lock) Probe(ctx context.Context) (locks.Servers, error) {
	found := locks.Servers{Product: "leaderrun"}
	err := l.enter(ctx, false)
	n := l.member()
	if err == nil && n == nil {
		err = workers.ErrClosed
	}
	if err != nil {
		return found, l.fail(ctx, "probe", err)
	}
	l.mu.Lock()
	seeds := l.seeds
	l.mu.Unlock()
	for _, seed := range seeds[:min(len(seeds), locks.MaxServers)] {
		found.Servers = append(found.Servers, n.probe(seed))
	}
	v, level := l.view(), locks.LevelOK
	if len(v.leads()) > 1 {
		level = locks.LevelWarning
	}
	found.Find("members", level, fmt.Sprintf("%d members are in sight; %d contend for this lock, and %d lead", len(n.inSight()), len(v), len(v.leads())), "")
	found.Find("exclusion", locks.LevelWarning, "gossip excludes nobody: each part of a network that is cut may have its own leader", "use quorum:// if the job must run once at most")
	if l.settings.keys == nil {
		found.Find("key", locks.LevelWarning, "every user of this machine can take part", "name a file with a secret key with key-file=")
	}
	return found, nil
}

// probe asks one seed to exchange states over TCP, and the member there for an answer over
// UDP.
func (n *node) probe(seed netip.AddrPort) locks.Server {
	s := locks.Server{Address: seed.String(), Role: "member"}
	began := time.Now()
	if _, err := n.list.Join([]string{seed.String()}); err != nil {
		_, why, _ := strings.Cut(err.Error(), seed.String()+": ") // memberlist has a list of one
		s.Error, s.Class, s.Role = "over TCP: "+strings.TrimSpace(why), "unavailable", ""
		return s
	}
	s.RTT = time.Since(began)
	if name := n.at(seed); name != "" {
		if _, err := n.list.Ping(name, net.UDPAddrFromAddrPort(seed)); err != nil {
			s.Error, s.Class = "it answers over TCP, but not over UDP", "unavailable"
		}
	}
	return s
}

var (
	_ locks.Inspector = (*Lock)(nil)
	_ locks.Prober    = (*Lock)(nil)
)
