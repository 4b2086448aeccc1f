package gossip

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/gossip/gossipinfo"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &gossipinfo.Info, "gossip://h1:7946,h2:7946", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}
