package postgres

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/postgres/postgresinfo"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &postgresinfo.Info, "postgres://h/d", func(u *url.URL, _ func(string) string) (any, error) {
		return parse(u)
	})
}
