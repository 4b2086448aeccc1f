package zookeeper

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/leaderrun/leaderrun/locks"
)

// Probe implements [queue.Prober]. A server's clock is not told: ZooKeeper tells
// it to nobody who changes nothing.
func (l *lock) Probe(ctx context.Context) (locks.Servers, error) {
	servers := l.endpoints(ctx)
	all := make([]probed, len(servers))
	var wg sync.WaitGroup
	for i, e := range servers {
		wg.Go(func() { all[i] = l.probe(ctx, e) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return locks.Servers{}, ctx.Err()
	}
	return l.verdict(ctx, all), nil
}

// endpoints returns the servers in the order in which they were given, a name that
// has several addresses with each of them.
func (l *lock) endpoints(ctx context.Context) (all []endpoint) {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	found := lookUp(ctx, l.settings.servers)
	for _, server := range l.settings.servers {
		if one := found[server]; len(one) > 1 {
			all = append(all, one...)
		} else {
			all = append(all, endpoint{server, server, one[0].err})
		}
	}
	return all[:min(len(all), locks.MaxServers)]
}

// verdict puts together what was found.
func (l *lock) verdict(ctx context.Context, all []probed) locks.Servers {
	user := ""
	if all := l.settings.users.now(); len(all) > 0 {
		user, _, _ = strings.Cut(all[0], ":")
	}
	out := locks.Servers{Product: "ZooKeeper", User: user, Findings: findings(all, l.o.TTL)}
	served := false
	for _, p := range all {
		out.Servers = append(out.Servers, p.Server)
		served = served || p.Error == ""
	}
	if served {
		out.Findings = append(out.Findings, l.aboutACL(ctx))
	}
	out.Findings = out.Findings[:min(len(out.Findings), locks.MaxFindings)]
	return out
}

// probed is what is known of one server.
type probed struct {
	locks.Server
	banner      banner
	least, most time.Duration // of sessions; 0: not known
}

// probe asks a server what it says to everybody, and for two sessions, of which
// the one is to be as short as can be and the other as long.
func (l *lock) probe(ctx context.Context, e endpoint) probed {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	p := probed{Server: locks.Server{Address: e.String()}}
	err := dialog(ctx, e, l.settings.tls, func(c net.Conn) (err error) {
		p.TLS, p.Expires = security(c, l.settings.tls)
		p.banner, err = askBanner(c)
		return err
	})
	if err == nil {
		err = dialog(ctx, e, l.settings.tls, func(c net.Conn) (err error) { p.least, p.RTT, err = l.attend(c, time.Millisecond); return err })
	}
	if err == nil {
		err = dialog(ctx, e, l.settings.tls, func(c net.Conn) (err error) { p.most, _, err = l.attend(c, longest); return err })
	}
	if err != nil {
		why := l.explain(err)
		p.Server = locks.Server{Address: p.Address, Error: why.Err.Error(), Class: locks.ServerClass(why)}
		return p
	}
	p.Version, p.Role = p.banner.version, p.banner.mode
	return p
}

// longest is a longer session than anybody may ask for.
const longest = 24 * time.Hour

// attend has a session of about that length, and measures a request in it: the
// second, as the first may find things that are not warm.
func (l *lock) attend(c net.Conn, want time.Duration) (granted, rtt time.Duration, err error) {
	t, _, err := resume(c, &ticket{timeout: want}, 0)
	if err == nil && t.id == 0 {
		err = errors.New("the server gave no session")
	}
	if err == nil {
		err = authenticate(c, l.settings.users.now())
	}
	for range 2 {
		if err == nil {
			rtt, err = l.measure(c)
		}
	}
	if err == nil {
		granted, err = t.timeout, call(c, xidCall, opCloseSession, nil)
	}
	return granted, rtt, err
}

// measure asks whether there is the chroot, and takes any answer.
func (l *lock) measure(c net.Conn) (time.Duration, error) {
	const unwatched = 0
	start := time.Now()
	err := call(c, xidCall, opExists, append(withText(nil, l.settings.chroot), unwatched))
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) {
		err = nil
	}
	return time.Since(start), err
}
