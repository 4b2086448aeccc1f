package file

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
	"github.com/leaderrun/leaderrun/locks/backend/file/fileinfo"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &fileinfo.Info, "file:///dir", func(u *url.URL, getenv func(string) string) (any, error) {
		return whichPlace(u, getenv)
	})
}
