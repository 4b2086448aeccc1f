//go:build bench && linux

package bench

import (
	"path/filepath"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/consul/consultest"
)

// consul wraps true in leaderrun and in `consul lock`.
func (b *bench) consul(t *testing.T) section {
	const rounds = 100
	server := consultest.Start(t, consultest.Options{})
	env := []string{"CONSUL_HTTP_ADDR=" + server.Addr()}
	ours := command{argv: []string{b.core, "-b", "consul", "-l", "bench", "--", "true"}, env: env}
	peer := command{argv: []string{consultest.Binary(t), "lock", "-shell=false", "bench", "true"}, env: env}
	install(t, filepath.Dir(b.core), filepath.Join("..", "bin", "leaderrun-consul"))
	c := alternate(rounds, func() use { return b.run(t, ours) }, func() use { return b.run(t, peer) })
	return section{
		title:    "Wrapping `true` on Consul: `leaderrun -b consul` and `consul lock`",
		commands: []string{ours.shown(), peer.shown()},
		figures:  c.figures("", budget{}),
	}
}
