package azblob

import (
	"net/url"
	"testing"

	"github.com/leaderrun/leaderrun/locks/backend/azblob/azblobinfo"
	"github.com/leaderrun/leaderrun/locks/backend/backendtest"
)

func TestSettingsAsDescribed(t *testing.T) {
	t.Parallel()
	backendtest.Settings(t, &azblobinfo.Info, "azblob://account/container/p", func(u *url.URL, getenv func(string) string) (any, error) {
		return parse(u, getenv)
	})
}

// TestTool checks that no variable of the service's own tools is ignored without a reason.
func TestTool(t *testing.T) {
	t.Parallel()
	backendtest.Tool(t, "testdata/az.txt", backendtest.Variable(&azblobinfo.Info))
}
