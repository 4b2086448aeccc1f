package consul

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/consul/consulinfo"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &consulinfo.Info, "consul://h:1/p", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}
