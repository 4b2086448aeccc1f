package mysql

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/mysql/mysqlinfo"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &mysqlinfo.Info, "mysql://h/d", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}
