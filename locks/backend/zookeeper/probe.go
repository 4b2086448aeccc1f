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

// Probe implements [queue.Store]. It does not report a server's clock, because ZooKeeper
// shows it only to somebody who changes something.
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
	return l.report(ctx, all), nil
}

// endpoints returns the servers in the order in which they were given. A name with several
// addresses has an endpoint for each.
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

// report puts the results together.
func (l *lock) report(ctx context.Context, all []probed) locks.Servers {
	user := ""
	if all := l.settings.users.now(); len(all) > 0 {
		user, _, _ = strings.Cut(all[0], ":")
	}
	out := locks.Servers{Product: "ZooKeeper", User: user, Findings: findings(all)}
	served := false
	for _, p := range all {
		out.Servers = append(out.Servers, p.Server)
		served = served || p.Error == ""
	}
	if served {
		out.Findings = append(out.Findings, l.aclFinding(ctx))
		if s := l.settings; s.tls == nil && len(s.users.now()) > 0 && !allLocal(s.servers) {
			out.Find("encryption", locks.LevelWarning, "the password goes over the network unencrypted", "enable TLS on the servers, and give cacert=FILE or tls=true")
		}
	}
	out.Findings = out.Findings[:min(len(out.Findings), locks.MaxFindings)]
	return out
}

// probed is the result of probing one server.
type probed struct {
	locks.Server
	info        serverInfo
	least, most time.Duration // timeouts of sessions; 0: unknown
}

// probe asks a server for its public status, and for two sessions: the shortest and the
// longest.
func (l *lock) probe(ctx context.Context, e endpoint) probed {
	ctx, cancel := context.WithTimeout(ctx, l.o.ConnectTimeout)
	defer cancel()
	p := probed{Server: locks.Server{Address: e.String()}}
	err := withConn(ctx, e, l.settings.tls, func(c net.Conn) (err error) {
		p.TLS, p.Expires = security(c, l.settings.tls)
		p.info, err = askServerInfo(c)
		return err
	})
	if err == nil {
		err = withConn(ctx, e, l.settings.tls, func(c net.Conn) (err error) { p.least, p.RTT, err = l.trySession(c, time.Millisecond); return err })
	}
	if err == nil {
		err = withConn(ctx, e, l.settings.tls, func(c net.Conn) (err error) { p.most, _, err = l.trySession(c, longest); return err })
	}
	if err != nil {
		why := l.explain(err)
		p.Server = locks.Server{Address: p.Address, Error: why.Err.Error(), Class: locks.ServerClass(why)}
		return p
	}
	p.Version, p.Role = p.info.version, p.info.mode
	return p
}

// longest is longer than any timeout that servers grant.
const longest = 24 * time.Hour

// trySession begins a session with about that timeout, measures its second request, because
// the first may be slower, and closes it.
func (l *lock) trySession(c net.Conn, want time.Duration) (granted, rtt time.Duration, err error) {
	t, _, err := resume(c, &sessionInfo{timeout: want}, 0)
	if err == nil && t.id == 0 {
		err = errors.New("the server granted no session")
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

// measure asks whether the chroot exists, and accepts any answer.
func (l *lock) measure(c net.Conn) (time.Duration, error) {
	const unwatched = 0
	start := time.Now()
	err := call(c, xidCall, opExists, append(withText(nil, l.settings.chroot), unwatched))
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) {
		err = nil
	}
	return time.Since(start), err
}
