package gossip

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &known.Gossip, "gossip://h1:7963,h2:7963", func(u *url.URL, getenv func(string) string) (any, error) {
		at, q := *u, u.Query()
		if !q.Has("min") { // it is required
			q.Set("min", "2")
			at.RawQuery = q.Encode()
		}
		return parse(&at, getenv)
	})
}
