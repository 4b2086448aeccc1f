package quorum

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/known"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &known.Quorum, "quorum://127.0.0.1,127.0.0.2", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}
