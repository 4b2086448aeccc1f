//go:build bench && linux

package bench

import (
	"path/filepath"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/etcd/etcdtest"
)

// againstBefore compares leaderrun with an earlier build of it.
func (b *bench) againstBefore(t *testing.T) section {
	const rounds = 200
	server := etcdtest.Start(t, etcdtest.Options{})
	earlier := *b
	earlier.core = b.before
	dir := "file://" + filepath.Join(t.TempDir(), "locks")
	file := func(b *bench) command { return command{argv: []string{b.core, "-b", dir, "--", "true"}} }
	etcd := func(b *bench) command { return on(server, b.leaderrun().argv("bench"), "true") }
	s := section{
		title:    "Against " + firstLine(t, b.before, "--version"),
		commands: []string{file(b).shown(), etcd(b).shown()},
		notes:    []string{"The peer is the earlier build, which BENCH_BEFORE named."},
	}
	for _, store := range []struct {
		name string
		of   func(*bench) command
	}{{"file", file}, {"etcd", etcd}} {
		c := alternate(rounds, func() use { return b.run(t, store.of(b)) }, func() use { return b.run(t, store.of(&earlier)) })
		s.figures = append(s.figures, c.figures("wrapping true, "+store.name+", ", budget{})...)
	}
	r := &relay{bench: b, server: server, addr: server.Addr(), job: buildStamp(t), ours: b.leaderrun(), peer: earlier.leaderrun()}
	s.figures = append(s.figures, r.figure(t, "hand-over, 10 waiters", 10, 10, 0))
	return s
}
