package consul

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &known.Consul, "consul://h:1/p", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}
