//go:build bench && linux

package bench

import (
	"slices"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
)

// A contender is a way to run a job under a lock in etcd.
type contender struct {
	argv   func(lock string) []string // the job is appended to it
	prefix func(lock string) string   // of the keys of the holder and the waiters
}

func (b *bench) leaderrun() contender {
	return contender{
		argv:   func(lock string) []string { return []string{b.core, "-b", "etcd", "-l", lock, "--"} },
		prefix: func(lock string) string { return "/leaderrun/" + lock + "/" },
	}
}

// lock returns the contender `etcdctl lock`.
func (b *bench) lock() contender {
	return contender{
		argv:   func(lock string) []string { return []string{b.etcdctl, "lock", lock} },
		prefix: func(lock string) string { return lock + "/" },
	}
}

func on(server *etcdtest.Server, argv []string, job ...string) command {
	return through(server.Addr(), argv, job...)
}

// through is like on for a server, or a proxy of one, at an address.
func through(addr string, argv []string, job ...string) command {
	return command{argv: slices.Concat(argv, job), env: []string{"ETCDCTL_ENDPOINTS=http://" + addr}}
}

func (b *bench) etcdFast(t *testing.T) section {
	s := b.wrapOnEtcd(t, etcdtest.Start(t, etcdtest.Options{}))
	s.title = "Wrapping `true` on etcd, uncontended: `leaderrun -b etcd` and `etcdctl lock`"
	s.notes = append(s.notes, "The server runs with --unsafe-no-fsync: what is measured is the clients.")
	return s
}

func (b *bench) etcdDurable(t *testing.T) section {
	s := b.wrapOnEtcd(t, etcdtest.Start(t, etcdtest.Options{Slow: true}))
	s.title = "The same on a server with its default settings"
	s.notes = append(s.notes, "The server syncs each write to its disk.")
	return s
}

// wrapOnEtcd wraps true, and for memory a job that outlives a renewal.
func (b *bench) wrapOnEtcd(t *testing.T, server *etcdtest.Server) section {
	const rounds, memoryRounds = 200, 5
	ours, peer := b.leaderrun().argv("bench"), b.lock().argv("bench")
	a, p := on(server, ours, "true"), on(server, peer, "true")
	c := alternate(rounds, func() use { return b.run(t, a) }, func() use { return b.run(t, p) })
	var rss, peerRSS sample
	for range memoryRounds {
		rss = append(rss, b.peakRSS(t, on(server, ours), "sleep", "4")/megabyte)
		peerRSS = append(peerRSS, b.peakRSS(t, on(server, peer), "sleep", "4")/megabyte)
	}
	return section{
		commands: []string{a.shown(), p.shown()},
		figures: append(c.figures("", budget{wall: 1.05, cpu: 1.3}),
			versus("peak resident, all processes but the job (`sleep 4`)", "MB", rss, peerRSS, 0)),
	}
}
